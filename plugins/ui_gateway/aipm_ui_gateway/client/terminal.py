"""``aipm chat``: a conversation in a terminal, turn by turn."""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress

from aipm_core import CallError, Json, visible
from aipm_ui_gateway.client.renderer import Renderer
from aipm_ui_gateway.client.ui_client import UiClient

_YES, _NO = {"y", "yes", "はい"}, {"n", "no", "いいえ", ""}


class Lines:
    """Lines of standard input, read beside everything else. A daemon, so that it never holds on."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line.rstrip("\n"))
        self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    async def next(self) -> str | None:
        """Return the next line, ``None`` at the end."""
        return await self._lines.get()


class TerminalChat:
    """Takes turns: a line of the person, then the agent until it waits again or asks something."""

    def __init__(self, session_id: str, lines: Lines, renderer: Renderer) -> None:
        self.session_id = session_id
        self.client: UiClient | None = None
        self.running = False
        self._lines = lines
        self._renderer = renderer
        self._questions: dict[str, Mapping[str, Json]] = {}
        self._quiet = asyncio.Event()
        self._online = asyncio.Event()
        self._leaving = False

    async def listen(self, client: UiClient) -> None:
        """Show events until the connection ends."""
        self.client = client
        self._online.set()
        while True:
            frame = await client.event()
            if not self._leaving:
                self._renderer.show(frame)
                self._note(frame)

    def tell(self, text: str) -> None:
        """Say something of our own, in between."""
        self._renderer.tell(text)

    def _note(self, frame: Mapping[str, Json]) -> None:
        payload = frame.get("payload", {})
        if frame["type"] == "onToolCallRequest":
            self._questions[payload["confirmationId"]] = payload
            self._quiet.set()
        elif frame["type"] == "onConfirmationResolved":
            self._questions.pop(payload["confirmationId"], None)
        elif frame["type"] == "session_closed" or payload.get("state") == "waiting_for_input":
            self.running = False
            self._quiet.set()

    async def talk(self) -> bool:
        """Take turns until the input ends; ``True`` when nothing is left open."""
        while True:
            if not self._questions:
                self._renderer.ask(">")
            else:
                self._renderer.ask("Allow? " + ("[yes/no]" if self._critical() else "[y/N]"))
            line = await self._lines.next()
            if line is None:
                return not self._questions
            if self._questions:
                await self._answer(line.strip().lower())
            elif line.strip():
                await self._say(line)

    async def _say(self, line: str) -> None:
        self._quiet.clear()
        self.running = True
        await self._command("submitUserInput", {"sessionId": self.session_id, "text": line})
        await self._quiet.wait()

    async def _answer(self, word: str) -> None:
        if word not in _YES | _NO or (self._critical() and word == "y"):
            self._renderer.tell("Please answer yes or no.")
            return
        confirmation_id = next(iter(self._questions))
        del self._questions[confirmation_id]
        self._quiet.clear()
        payload = {"confirmationId": confirmation_id, "approved": word in _YES}
        await self._command("provideConfirmation", payload)
        if not self._questions:
            await self._quiet.wait()

    def _critical(self) -> bool:
        first = next(iter(self._questions.values()))
        return bool(first["security_warning"]["level"] == "CRITICAL")

    async def cancel(self) -> None:
        """Stop what the agent is doing."""
        await self._command("cancelRun", {"sessionId": self.session_id})

    async def close(self) -> None:
        """Close the session; nobody who leaves waits for a server that is away."""
        self._leaving = True
        with suppress(CallError, ConnectionError):
            if self.client is not None and self._online.is_set():
                await self.client.command("closeSession", {"sessionId": self.session_id})

    async def _command(self, type_: str, payload: Mapping[str, Json]) -> None:
        command_id = secrets.token_hex(8)  # the same after a break: it has one effect
        while True:
            await self._online.wait()
            try:
                if self.client is not None:
                    await self.client.command(type_, payload, id=command_id)
                    return
            except ConnectionError:
                self._online.clear()
            except CallError as error:
                self._renderer.tell(f"({visible(str(error))})")
                self.running = False
                self._quiet.set()
                return
