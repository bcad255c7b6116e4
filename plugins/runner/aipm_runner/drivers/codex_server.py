"""Codex: its app server, which asks for approval before it runs or changes anything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aipm_core import Json
from aipm_runner.api import Client, EndReason, ProgramError, RunStart, TurnEnd
from aipm_runner.drivers.failures import items, mapping, reason_of_status, short
from aipm_runner.drivers.json_rpc import JsonRpc, NoSuchMethod, RemoteError
from aipm_runner.drivers.native_calls import NativeCall, codex_change, codex_command
from aipm_runner.drivers.shown import one_line

_ERRORS: dict[str, EndReason] = {
    "unauthorized": "not_logged_in",
    "usageLimitExceeded": "quota",
    "contextWindowExceeded": "context_full",
    "httpConnectionFailed": "network",
    "responseStreamConnectionFailed": "network",
    "responseStreamDisconnected": "network",
    "serverOverloaded": "network",
    "internalServerError": "network",
}
_SECONDS = 30.0


class CodexDriver:
    """One thread of an app server."""

    def __init__(self, start: RunStart, client: Client) -> None:
        self._start = start
        self._client = client
        self._rpc = JsonRpc(client, self._requested, self._notified, version=None)
        self._thread = ""
        self._turn_id = ""
        self._turn: asyncio.Future[TurnEnd] | None = None
        self._changes: dict[str, Mapping[str, Json]] = {}
        self._resets_at: float | None = None
        self._telling: asyncio.Task[None] | None = None
        self._goes_on = False
        self._before: int | None = None

    async def start(self) -> None:
        """Open a thread in which every command is asked about; or go on with an earlier one."""
        about = {"name": "aipm", "title": None, "version": "1"}
        try:
            await self._rpc.request("initialize", {"clientInfo": about}, _SECONDS)
            self._rpc.notify("initialized")
            opened = await self._open()
        except RemoteError as error:
            raise ProgramError("process_failed", str(error)) from None
        self._thread = str(mapping(mapping(opened).get("thread")).get("id"))
        self._client.remember(self._thread)

    async def _open(self) -> Json:
        how = {
            "cwd": str(self._start.directory),
            "approvalPolicy": "untrusted",
            "approvalsReviewer": "user",
            "sandbox": "workspace-write",
            **({"model": self._start.model} if self._start.model else {}),
        }
        if self._start.resume is not None:
            try:
                earlier = {"threadId": self._start.resume, **how}
                opened = await self._rpc.request("thread/resume", earlier, _SECONDS)
            except RemoteError as error:
                self._client.update(f"a new conversation begins: {error}")
            else:
                self._goes_on = True
                return opened
        return await self._rpc.request("thread/start", how, _SECONDS)

    async def prompt(self, text: str) -> TurnEnd:
        """Start a turn and wait for its end."""
        self._turn = asyncio.get_running_loop().create_future()
        what = {"threadId": self._thread, "input": [{"type": "text", "text": text}]}
        try:
            started = await self._rpc.request("turn/start", what, _SECONDS)
        except RemoteError as error:
            return TurnEnd(reason="process_failed", detail=str(error))
        self._turn_id = str(mapping(mapping(started).get("turn")).get("id"))
        return await self._turn

    async def cancel(self) -> None:
        """Interrupt the turn."""
        what = {"threadId": self._thread, "turnId": self._turn_id}
        await self._rpc.request("turn/interrupt", what, _SECONDS)

    def read(self, line: str) -> None:
        """Take in a line."""
        self._rpc.read(line)

    async def _requested(self, method: str, params: Mapping[str, Json]) -> Json:
        if method == "item/commandExecution/requestApproval":
            return await self._approve(codex_command(params))
        if method == "item/fileChange/requestApproval":
            item = self._changes.get(str(params.get("itemId")), {})
            return await self._approve(codex_change(item, params.get("reason")))
        if method == "mcpServer/elicitation/request":
            return {"action": "decline", "content": None}
        raise NoSuchMethod(method)

    async def _approve(self, call: NativeCall) -> Json:
        answer = await self._client.ask(*call)
        if answer.allowed:
            return {"decision": "accept"}
        self._tell(answer.text)
        return {"decision": "decline"}

    def _tell(self, text: str) -> None:
        """Say why: the refusal itself has no place for it, so it comes as a word in between."""
        said = [{"type": "text", "text": text}]
        where = {"threadId": self._thread, "expectedTurnId": self._turn_id, "input": said}
        self._telling = asyncio.create_task(self._steer(where))

    async def _steer(self, where: Mapping[str, Json]) -> None:
        try:
            await self._rpc.request("turn/steer", where, _SECONDS)
        except (RemoteError, ProgramError) as error:
            self._client.update(f"the agent could not be told why: {error}")

    def _notified(self, method: str, params: Mapping[str, Json]) -> None:
        takes = {
            "turn/completed": self._completed,
            "item/started": self._item_started,
            "item/completed": self._item_completed,
            "thread/tokenUsage/updated": self._used,
            "account/rateLimits/updated": self._limits,
            "error": self._error,
        }
        if method in takes:
            takes[method](params)

    def _used(self, params: Mapping[str, Json]) -> None:
        total = mapping(mapping(params.get("tokenUsage")).get("total")).get("totalTokens")
        if not isinstance(total, int):
            return
        if self._before is None:  # the sums of a thread that goes on have earlier runs in them
            last = mapping(mapping(params.get("tokenUsage")).get("last")).get("totalTokens")
            self._before = max(0, total - last) if self._goes_on and isinstance(last, int) else 0
        self._client.usage("thread", tokens=total - self._before)

    def _limits(self, params: Mapping[str, Json]) -> None:
        primary = mapping(mapping(params.get("rateLimits")).get("primary"))
        if isinstance(until := primary.get("resetsAt"), int | float):
            self._resets_at = float(until)

    def _error(self, params: Mapping[str, Json]) -> None:
        self._client.update(f"error: {one_line(mapping(params.get('error')).get('message'))}")

    def _item_started(self, params: Mapping[str, Json]) -> None:
        item = mapping(params.get("item"))
        if item.get("type") == "fileChange":
            self._changes[str(item.get("id"))] = item
        if item.get("type") == "commandExecution":
            self._client.update(f"→ {one_line(item.get('command'))}")
        elif item.get("type") == "mcpToolCall":
            self._client.update(f"→ {item.get('tool')} {one_line(item.get('arguments'))}")

    def _item_completed(self, params: Mapping[str, Json]) -> None:
        item = mapping(params.get("item"))
        if item.get("type") == "agentMessage":
            self._client.update(str(item.get("text")))
        elif item.get("type") == "commandExecution":
            self._client.update(f"← {item.get('status')} {one_line(item.get('aggregatedOutput'))}")
        elif item.get("type") == "fileChange":
            paths = [change.get("path") for change in items(item.get("changes"))]
            self._client.update(f"← {item.get('status')} {one_line(paths)}")

    def _completed(self, params: Mapping[str, Json]) -> None:
        end = self._end_of(mapping(params.get("turn")))
        if end.reason == "quota" and self._resets_at is not None:
            self._client.limit(self._resets_at)
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(end)

    def _end_of(self, turn: Mapping[str, Json]) -> TurnEnd:
        if turn.get("status") == "completed":
            return TurnEnd()
        if turn.get("status") == "interrupted":
            return TurnEnd(cancelled=True)
        error = mapping(turn.get("error"))
        return TurnEnd(
            reason=_reason(error.get("codexErrorInfo")), detail=short(error.get("message"))
        )


def _reason(info: Json) -> EndReason:
    """Read the kind of an error: a word, or an object whose one key is the word."""
    name = info if isinstance(info, str) else next(iter(mapping(info)), "")
    status = mapping(mapping(info).get(name)).get("httpStatusCode")
    if isinstance(status, int):
        return reason_of_status(status)
    return _ERRORS.get(str(name), "process_failed")
