"""The conversation with one program: its driver on one side, the run on the other."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from aipm_core import Json
from aipm_runner.api import Answer, Client, Driver, ProgramError, TurnEnd

logger = logging.getLogger(__name__)
Guard: TypeAlias = Callable[[str, Mapping[str, Json]], Awaitable[Answer]]
_CANCEL_SECONDS = 1.0
_MOST_PROMPTS = 20  # of one run; who is refused again and again is not told again


class Dialogue:
    """A driver's :class:`Client`, and what the run sees of the driver.

    ``repeats`` says that the program cannot pass on why a call was refused, so that the agent is
    told with a further prompt.
    """

    def __init__(
        self,
        drive: Callable[[Client], Driver],
        guard: Guard,
        log: Callable[[str, str], None],
        *,
        longest: int,
        start_seconds: float,
        repeats: bool,
    ) -> None:
        self._driver = drive(self)
        self._guard = guard
        self._log = log
        self._longest = longest
        self._start_seconds = start_seconds
        self._repeats = repeats
        self._write: Callable[[bytes], None] = lambda _: None
        self._used: dict[str, tuple[int | None, float | None]] = {}
        self._refusals: list[str] = []
        self.ended = asyncio.Event()
        self.end: TurnEnd | None = None
        """How the conversation ended, once it has."""
        self.asking = 0
        """Questions of the program that nobody has answered yet."""
        self.limit_until: float | None = None
        self.session: str | None = None

    @property
    def tokens(self) -> int | None:
        """The tokens of all messages, each counted once."""
        counted = [tokens for tokens, _ in self._used.values() if tokens is not None]
        return sum(counted) if counted else None

    @property
    def cost_usd(self) -> float | None:
        """What all messages have cost, as far as the program tells."""
        counted = [cost for _, cost in self._used.values() if cost is not None]
        return sum(counted) if counted else None

    def attach(self, write: Callable[[bytes], None]) -> None:
        """Have a way to write to the program."""
        self._write = write

    def take(self, stream: str, line: str) -> None:
        """Take in a line of the program; whatever it is, it does not end the runner."""
        if stream != "stdout":
            self._log(stream, self._cut(line))
            return
        try:
            self._driver.read(line)
        except Exception:
            logger.exception("a line of a program could not be read")
            self._log(stream, self._cut(line))

    async def hold(self, prompt: str) -> None:
        """Speak with the program until its turn has ended; ``end`` says how."""
        try:
            self.end = await self._hold(prompt)
        except ProgramError as error:
            self.end = TurnEnd(reason=error.reason, detail=str(error))
        except Exception:
            logger.exception("the conversation with a program failed")
            self.end = TurnEnd(reason="unknown")
        finally:
            self.ended.set()

    async def _hold(self, prompt: str) -> TurnEnd:
        try:
            async with asyncio.timeout(self._start_seconds):
                await self._driver.start()
        except TimeoutError:
            raise ProgramError("handshake_timeout", "it did not get ready") from None
        end = await self._driver.prompt(prompt)
        for _ in range(_MOST_PROMPTS):
            told, self._refusals = "\n".join(dict.fromkeys(self._refusals)), []
            if not told or end.reason != "ok":
                break
            end = await self._driver.prompt(told)
        return end

    async def cancel(self) -> None:
        """Tell the program to stop, if it listens."""
        try:
            async with asyncio.timeout(_CANCEL_SECONDS):
                await self._driver.cancel()
                await self.ended.wait()
        except Exception as error:  # noqa: BLE001 - it is ended by other means then
            logger.debug("a program could not be told to stop: %r", error)

    def send(self, message: Mapping[str, Json]) -> None:
        """Write one line of JSON to the program."""
        self._write(json.dumps(message, ensure_ascii=False).encode(errors="replace") + b"\n")

    def update(self, text: str) -> None:
        """Add what the program says to the log."""
        for line in text.splitlines() or ("",):
            self._log("stdout", self._cut(line))

    def usage(self, key: str, *, tokens: int | None = None, cost_usd: float | None = None) -> None:
        """Note what a message has used, once for each key."""
        before = self._used.get(key, (None, None))
        self._used[key] = (
            before[0] if tokens is None else tokens,
            before[1] if cost_usd is None else cost_usd,
        )

    def limit(self, until: float) -> None:
        """Note until when the account is used up."""
        self.limit_until = until

    def remember(self, session: str) -> None:
        """Note the program's own name for the conversation."""
        self.session = session

    async def ask(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Ask the guard; whatever goes wrong there means no."""
        self.asking += 1
        try:
            answer = await self._guard(tool, arguments)
        finally:
            self.asking -= 1
        if not answer.allowed:
            self._log("runner", self._cut(f"native:{tool}: {answer.text}"))
            if self._repeats:
                self._refusals.append(answer.text)
        return answer

    def _cut(self, text: str) -> str:
        return text if len(text) <= self._longest else text[: self._longest] + " […]"
