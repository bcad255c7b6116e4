"""Keeps ``aipm chat`` connected: opens a session, comes back after a break, leaves in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import InvalidHandshake, InvalidStatus

from aipm_core import CallError
from aipm_ui_gateway.client.renderer import Renderer
from aipm_ui_gateway.client.terminal import Lines, TerminalChat
from aipm_ui_gateway.client.ui_client import UiClient, connected
from aipm_ui_gateway.first_of import first_of

_ATTEMPTS, _PAUSE_SECONDS = 20, 0.5  # a server that restarts is back within seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTarget:
    """Whom to talk to, and where."""

    url: str
    token: str
    project_id: str
    agent_id: str
    as_json: bool = False


async def chat(wanted: ChatTarget) -> None:
    """Talk with an agent until standard input ends."""
    renderer = Renderer(wanted.agent_id, as_json=wanted.as_json)
    async with _Reached(wanted) as client:
        opening = {"projectId": wanted.project_id, "agentId": wanted.agent_id}
        session_id = (await client.command("openSession", opening))["sessionId"]
        conversation = TerminalChat(session_id, Lines(), renderer)
        finished = await first_of(
            _left_in_order(conversation, conversation.talk()),
            _left_in_order(conversation, _cancel_on_interrupt(conversation)),
            _stay(wanted, conversation, client),
        )
    if not finished:
        renderer.tell("A question is still open; `aipm inbox` shows it.")


class _Unreachable(CallError):
    """Nobody answers at the address."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="unreachable", status=503)


class _Reached:
    """A connection whose failures are told in one sentence."""

    def __init__(self, wanted: ChatTarget) -> None:
        self._wanted = wanted
        self._connection = connected(wanted.url, wanted.token)

    async def __aenter__(self) -> UiClient:
        try:
            return await self._connection.__aenter__()
        except InvalidStatus as error:
            status = error.response.status_code
            raise CallError(
                f"{self._wanted.url} refused the connection ({status}); is the token valid?",
                code="refused",
                status=status,
            ) from None
        except (OSError, InvalidHandshake):
            raise _Unreachable(
                f"{self._wanted.url} cannot be reached; is `aipm up` running?"
            ) from None

    async def __aexit__(self, *error: object) -> None:
        await self._connection.__aexit__(*error)  # type: ignore[arg-type]


async def _left_in_order(conversation: TerminalChat, work: Coroutine[Any, Any, bool]) -> bool:
    """Close the session before disconnecting."""
    finished = await work
    if finished:
        await conversation.close()
    return finished


async def _stay(wanted: ChatTarget, conversation: TerminalChat, client: UiClient) -> bool:
    """Listen; when the connection breaks, take the session up again where it broke off."""
    seen = await _heard(conversation, client, 0)
    misses = 0
    while misses < _ATTEMPTS:
        if misses == 0:
            conversation.tell("(the connection broke; trying again)")
        await asyncio.sleep(_PAUSE_SECONDS)
        misses += 1
        with suppress(_Unreachable, ConnectionError):
            async with _Reached(wanted) as again:
                place = {"sessionId": conversation.session_id, "lastSeq": seen}
                await again.command("openSession", place)
                conversation.tell("(connected again)")
                seen = await _heard(conversation, again, seen)
                misses = 0
    raise _Unreachable("the server does not come back")


async def _heard(conversation: TerminalChat, client: UiClient, seen: int) -> int:
    """Listen until the connection ends; return the place it got to."""
    with suppress(ConnectionError):
        await conversation.listen(client)
    return client.last_seq.get(conversation.session_id, seen)


async def _cancel_on_interrupt(conversation: TerminalChat) -> bool:
    """Ctrl-C stops the agent while it works, and the chat while it does not."""
    pressed = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, pressed.set)
    try:
        while True:
            await pressed.wait()
            pressed.clear()
            if not conversation.running:
                return True
            await conversation.cancel()
            conversation.tell("(stopped)")
    finally:
        loop.remove_signal_handler(signal.SIGINT)
