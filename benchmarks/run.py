"""One run: its scale, its sides, and what becomes of each step."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, TypeVarTuple, Unpack

from benchmarks.results import Row, Section
from benchmarks.sides.installing import NotMeasured
from benchmarks.sides.side import Server, Side
from benchmarks.sides.starting import serving

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
STEP = 120.0  # seconds; more than any step needs on a slow machine


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rounds: int
    seconds: float
    starts: int
    wakes: int
    sizes: tuple[int, ...]
    samples: int
    polls: tuple[int, ...]
    idle: float
    grace: float


FULL = Scale(5, 1.0, 7, 200, (1_000, 10_000, 100_000, 1_000_000), 400, (1, 100, 1_000), 4.0, 20.0)
QUICK = Scale(2, 0.3, 1, 30, (1_000, 10_000, 100_000), 60, (1, 100, 1_000), 1.0, 6.0)


class Display(Protocol):
    """Where a run shows what it does."""

    def show(self, what: str) -> None:
        """Say what runs now."""

    def advance(self) -> None:
        """One step is done."""


@dataclass
class Run:
    """What a question is given: it measures in steps and adds rows."""

    scale: Scale
    sides: list[Side]
    display: Display
    section: Section = field(default_factory=Section)

    def add(self, side: str, at: str, values: dict[str, float]) -> None:
        """Keep an answer."""
        self.section.rows.append(Row(side=side, at=at, values=values))

    async def step(
        self,
        side: str,
        what: str,
        work: Callable[[Unpack[Ts]], Awaitable[T]],
        *given: *Ts,
        limit: float = STEP,
    ) -> T | None:
        """Do one step; a side that fails or hangs is not asked again for this question."""
        if side in self.section.missing:
            self.display.advance()
            return None
        self.display.show(f"{side}: {what}")
        try:
            async with asyncio.timeout(limit):
                return await work(*given)
        except Exception as error:  # noqa: BLE001 - whatever another program does is no end of ours
            self.section.missing[side] = reason(error)
            return None
        finally:
            self.display.advance()

    def rounds(self) -> Iterator[int]:
        """Count the rounds; in each, every side has its turn, so that a busy machine hits all."""
        return iter(range(self.scale.rounds))

    @asynccontextmanager
    async def servers(self, sides: list[Side]) -> AsyncIterator[list[Server]]:
        """Run a server of each side at once."""
        async with AsyncExitStack() as running:
            made = []
            for side in sides:
                enter = running.enter_async_context
                server = await self.step(side.name, "start", enter, serving(side))
                if server is not None:
                    made.append(server)
            yield made


def reason(error: BaseException) -> str:
    """Say in one line why something was not measured."""
    if isinstance(error, NotMeasured):
        return str(error)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    told = re.sub(r"/[\w.-]+(/[\w.-]+)+", "…", str(error).partition("\n")[0])  # no paths in results
    return f"{type(error).__name__}: {told[:160]}".rstrip(": ")
