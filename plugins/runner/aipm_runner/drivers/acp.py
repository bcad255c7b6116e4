"""ACP, the Agent Client Protocol: any program that speaks it."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_core import Json
from aipm_runner.api import Client, EndReason, ProgramError, RunStart, TurnEnd
from aipm_runner.drivers.failures import items, mapping, reason_of_status, whole
from aipm_runner.drivers.json_rpc import JsonRpc, NoSuchMethod, RemoteError
from aipm_runner.drivers.native_calls import acp_call, own_tool
from aipm_runner.drivers.shown import one_line

_AUTH_REQUIRED = -32000
_SECONDS = 30.0
_ENDS: dict[str, EndReason] = {"max_tokens": "context_full", "max_turn_requests": "turn_limit"}
_KINDS: dict[str, EndReason] = {
    "rate_limit": "quota",
    "authentication_failed": "not_logged_in",
    "billing_error": "quota",
    "server_error": "network",
}


class AcpDriver:
    """One session of an ACP program. ``mode`` is set before the first prompt, if there is one."""

    def __init__(
        self,
        start: RunStart,
        client: Client,
        mode: str | None = None,
        meta: Mapping[str, Json] | None = None,
    ) -> None:
        self._start = start
        self._client = client
        self._mode = mode
        self._meta = meta
        self._rpc = JsonRpc(client, self._requested, self._notified)
        self._session = ""
        self._turns = 0
        self._said = ""
        self._calls: dict[str, Mapping[str, Json]] = {}

    async def start(self) -> None:
        """Open a session, or go on with an earlier one."""
        able = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        about = {
            "protocolVersion": 1,
            "clientCapabilities": able,
            "clientInfo": {"name": "aipm", "version": "1"},
        }
        try:
            found = mapping(await self._rpc.request("initialize", about, _SECONDS))
            opened = await self._open(mapping(found.get("agentCapabilities")))
            await self._choose_mode(mapping(opened.get("modes")))
        except RemoteError as error:
            raise ProgramError(_reason(error), str(error)) from None
        self._client.remember(self._session)

    async def _open(self, abilities: Mapping[str, Json]) -> Mapping[str, Json]:
        headers = [{"name": "Authorization", "value": f"Bearer {self._start.token}"}]
        server = {"type": "http", "name": "aipm", "url": self._start.mcp_url, "headers": headers}
        if not mapping(abilities.get("mcpCapabilities")).get("http"):
            raise ProgramError("config_missing", "it takes no MCP server over HTTP")
        where = {"cwd": str(self._start.directory), "mcpServers": [server]}
        if self._start.resume is not None and abilities.get("loadSession"):
            try:
                earlier = {"sessionId": self._start.resume, **where}
                opened = mapping(await self._rpc.request("session/load", earlier, _SECONDS))
            except RemoteError as error:
                self._client.update(f"a new conversation begins: {error}")
            else:
                self._session = self._start.resume
                return opened
        meta = {"_meta": self._meta} if self._meta else {}
        opened = mapping(await self._rpc.request("session/new", {**where, **meta}, _SECONDS))
        self._session = str(opened.get("sessionId"))
        return opened

    async def _choose_mode(self, modes: Mapping[str, Json]) -> None:
        """Have the mode in which it asks, whatever its own settings say."""
        known = {mode.get("id") for mode in items(modes.get("availableModes"))}
        if self._mode in known and modes.get("currentModeId") != self._mode:
            what = {"sessionId": self._session, "modeId": self._mode}
            await self._rpc.request("session/set_mode", what, _SECONDS)

    async def prompt(self, text: str) -> TurnEnd:
        """Send a prompt; its answer ends the turn."""
        self._turns += 1
        said = [{"type": "text", "text": text}]
        try:
            answer = mapping(
                await self._rpc.request(
                    "session/prompt", {"sessionId": self._session, "prompt": said}
                )
            )
        except RemoteError as error:
            return TurnEnd(reason=_reason(error), detail=str(error))
        finally:
            self._flush()
        self._count(answer)
        reason = str(answer.get("stopReason"))
        if reason in ("end_turn", "cancelled"):
            return TurnEnd(cancelled=reason == "cancelled")
        return TurnEnd(reason=_ENDS.get(reason, "process_failed"), detail=f"it stopped: {reason}")

    async def cancel(self) -> None:
        """Tell the program to end its turn; it answers the prompt then."""
        self._rpc.notify("session/cancel", {"sessionId": self._session})

    def read(self, line: str) -> None:
        """Take in a line."""
        self._rpc.read(line)

    async def _requested(self, method: str, params: Mapping[str, Json]) -> Json:
        if method != "session/request_permission":
            raise NoSuchMethod(method)
        asked = mapping(params.get("toolCall"))
        call = {**self._calls.get(str(asked.get("toolCallId")), {}), **asked}
        allowed = own_tool(call) or (await self._client.ask(*acp_call(call))).allowed
        wanted = "allow_once" if allowed else "reject_once"
        for option in items(params.get("options")):
            if option.get("kind") == wanted:
                return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}
        return {"outcome": {"outcome": "cancelled"}}

    def _notified(self, method: str, params: Mapping[str, Json]) -> None:
        if method != "session/update":
            return
        update = mapping(params.get("update"))
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            self._say(str(mapping(update.get("content")).get("text", "")))
        elif kind in ("tool_call", "tool_call_update"):
            self._tool(update)
        elif kind == "usage_update":
            cost = mapping(update.get("cost"))
            if cost.get("currency") == "USD" and isinstance(cost.get("amount"), int | float):
                self._client.usage("session", cost_usd=float(cost["amount"]))

    def _say(self, text: str) -> None:
        """Make whole lines of what comes in pieces."""
        *lines, self._said = (self._said + text).split("\n")
        for line in lines:
            self._client.update(line)

    def _flush(self) -> None:
        if self._said:
            self._client.update(self._said)
            self._said = ""

    def _tool(self, update: Mapping[str, Json]) -> None:
        self._flush()
        name, status = str(update.get("toolCallId")), update.get("status")
        known = self._calls.get(name)
        self._calls[name] = {**(known or {}), **update}
        if known is None:
            self._client.update(f"→ {one_line(update.get('title'))}")
        if status in ("completed", "failed"):
            self._client.update(f"← {status} {one_line(update.get('rawOutput') or '')}")
            del self._calls[name]

    def _count(self, answer: Mapping[str, Json]) -> None:
        """Note the tokens of a turn, as far as the program tells."""
        used = mapping(answer.get("usage"))
        quota = mapping(mapping(answer.get("_meta")).get("quota"))
        counted = mapping(quota.get("token_count"))
        tokens = used.get("totalTokens") or whole(*counted.values())
        if isinstance(tokens, int) and tokens:
            self._client.usage(f"turn {self._turns}", tokens=tokens)


def _reason(error: RemoteError) -> EndReason:
    kind = mapping(error.data).get("errorKind")
    if kind in _KINDS:
        return _KINDS[kind]
    if error.code == _AUTH_REQUIRED:
        return "not_logged_in"
    return reason_of_status(error.code)
