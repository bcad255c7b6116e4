"""Claude Code: lines of JSON both ways, in which the program asks before it uses a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from aipm_core import Json
from aipm_runner.api import Client, EndReason, ProgramError, TurnEnd
from aipm_runner.drivers.failures import items, mapping, reason_of_status, short, whole
from aipm_runner.drivers.json_rpc import parsed
from aipm_runner.drivers.native_calls import claude_call
from aipm_runner.drivers.shown import one_line

_ENDS: dict[str, EndReason] = {
    "error_max_turns": "turn_limit",
    "error_max_budget_usd": "budget",
}
_HANDSHAKE_SECONDS = 30.0


class ClaudeDriver:
    """Speaks ``stream-json`` with its control requests."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._number = 0
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._turn: asyncio.Future[TurnEnd] | None = None

    async def start(self) -> None:
        """Say that somebody is here who answers its questions."""
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                await self._control({"subtype": "initialize", "hooks": None})
        except TimeoutError:
            raise ProgramError("handshake_timeout", "no answer to initialize") from None

    async def prompt(self, text: str) -> TurnEnd:
        """Send a message as its user; the first result ends the turn."""
        self._turn = asyncio.get_running_loop().create_future()
        content = [{"type": "text", "text": text}]
        self._client.send({"type": "user", "message": {"role": "user", "content": content}})
        return await self._turn

    async def cancel(self) -> None:
        """Interrupt the turn."""
        await self._control({"subtype": "interrupt"})

    def read(self, line: str) -> None:
        """Take in a line."""
        message = parsed(line)
        if message is None:
            self._client.update(line)
            return
        takes = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "rate_limit_event": self._rate_limit,
            "control_request": self._requested,
            "control_response": self._answered,
            "control_cancel_request": self._withdrawn,
        }
        kind = message.get("type")
        if isinstance(kind, str) and kind in takes:
            takes[kind](message)

    async def _control(self, request: Mapping[str, Json]) -> Json:
        self._number += 1
        name, answer = f"aipm-{self._number}", asyncio.get_running_loop().create_future()
        self._waiting[name] = answer
        self._client.send({"type": "control_request", "request_id": name, "request": request})
        try:
            return await answer
        finally:
            del self._waiting[name]

    def _answered(self, message: Mapping[str, Json]) -> None:
        response = mapping(message.get("response"))
        waiting = self._waiting.get(str(response.get("request_id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(response.get("response"))

    def _system(self, message: Mapping[str, Json]) -> None:
        if message.get("subtype") == "init":
            if isinstance(session := message.get("session_id"), str):
                self._client.remember(session)
            for server in items(message.get("mcp_servers")):
                if server.get("name") == "aipm" and server.get("status") == "failed":
                    self._end(TurnEnd(reason="network", detail="it cannot reach aipm's tools"))
        elif message.get("subtype") == "api_retry":
            self._client.update(f"retry {message.get('attempt')}: {message.get('error_status')}")

    def _assistant(self, message: Mapping[str, Json]) -> None:
        said = mapping(message.get("message"))
        used = mapping(said.get("usage"))
        if used and isinstance(number := said.get("id"), str):
            tokens = whole(*(v for k, v in used.items() if k.endswith("_tokens")))
            self._client.usage(number, tokens=tokens)
        for block in items(said.get("content")):
            if block.get("type") == "text":
                self._client.update(str(block.get("text")))
            elif block.get("type") == "tool_use":
                self._client.update(f"→ {block.get('name')} {one_line(block.get('input'))}")

    def _user(self, message: Mapping[str, Json]) -> None:
        for block in items(mapping(message.get("message")).get("content")):
            if block.get("type") == "tool_result":
                self._client.update(f"← {one_line(block.get('content'))}")

    def _rate_limit(self, message: Mapping[str, Json]) -> None:
        told = mapping(message.get("rate_limit_info"))
        until = told.get("resetsAt")
        if told.get("status") == "rejected" and isinstance(until, int | float):
            self._client.limit(float(until))

    def _requested(self, message: Mapping[str, Json]) -> None:
        name, request = str(message.get("request_id")), mapping(message.get("request"))
        if request.get("subtype") == "can_use_tool":
            self._spawn(name, self._permit(name, request))
        else:
            told = {"subtype": "error", "request_id": name, "error": "not offered"}
            self._client.send({"type": "control_response", "response": told})

    async def _permit(self, name: str, request: Mapping[str, Json]) -> None:
        given = mapping(request.get("input"))
        answer = await self._client.ask(*claude_call(str(request.get("tool_name")), given))
        # What it suggests to allow for good is never echoed: that would write into the repository.
        decision: dict[str, Json] = {"behavior": "deny", "message": answer.text}
        if answer.allowed:
            decision = {"behavior": "allow", "updatedInput": dict(given)}
        told = {"subtype": "success", "request_id": name, "response": decision}
        self._client.send({"type": "control_response", "response": told})

    def _withdrawn(self, message: Mapping[str, Json]) -> None:
        if task := self._asking.get(str(message.get("request_id"))):
            task.cancel()

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._asking[name] = task
        task.add_done_callback(lambda _: self._asking.pop(name, None))

    def _result(self, message: Mapping[str, Json]) -> None:
        cost = message.get("total_cost_usd")
        if isinstance(cost, int | float):  # of the whole process so far
            self._client.usage("process", cost_usd=float(cost))
        self._end(_end_of(message))

    def _end(self, end: TurnEnd) -> None:
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(end)


def _end_of(message: Mapping[str, Json]) -> TurnEnd:
    """Read a result; ``subtype`` may say success though ``is_error`` is set."""
    kind, told = str(message.get("subtype")), short(message.get("result"))
    if kind in _ENDS:
        return TurnEnd(reason=_ENDS[kind], detail=told)
    if str(message.get("terminal_reason", "")).startswith("aborted"):
        return TurnEnd(cancelled=True)
    if not message.get("is_error") and kind == "success":
        return TurnEnd()
    if message.get("api_error_status") is None and told and "/login" in told:
        return TurnEnd(reason="not_logged_in", detail=told)
    return TurnEnd(reason=reason_of_status(message.get("api_error_status")), detail=told)
