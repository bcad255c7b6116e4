"""The line between what the server decides and records, and what happens on this machine.

Whoever runs a program knows the server by ``RunRecords`` alone: over the store inside the server
and beside it, over HTTP on another machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from aipm_core import Json
from aipm_runner.agent_programs import AgentProgram
from aipm_runner.api import Answer, EndReason, Evidence, State
from aipm_runner.runs import Outcome, Run

WaitsFor: TypeAlias = Literal["confirmation", "answer", "quota", "slot"]
LogLine: TypeAlias = tuple[int, str, str, str]
"""A number, a time, a stream, a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A claimed run, and what its machine has to know to start it."""

    run: Run
    agent: AgentProgram
    directory: Path | None
    logged: int = 0
    """How many lines of its log there are already, of a run that goes on."""
    team: tuple[tuple[str, str], ...] = ()
    """The agents below it, each with what it is for."""

    def as_json(self) -> dict[str, Json]:
        """Return it as it travels."""
        place = str(self.directory) if self.directory else None
        return {
            "run": asdict(self.run),
            "agent": asdict(self.agent),
            "directory": place,
            "logged": self.logged,
            "team": [list(one) for one in self.team],
        }

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Assignment:
        """Make one of what has travelled."""
        place = data["directory"]
        return cls(
            run=Run(**data["run"]),
            agent=AgentProgram(**data["agent"]),
            directory=Path(place) if place else None,
            logged=int(data["logged"]),
            team=tuple((name, role) for name, role in data.get("team", ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSight:
    """What the server knows of a run now; ``calls`` grows with every call of its session."""

    state: State = "ended"
    evidence: Evidence = "lease"
    ended: bool = True
    waits_for: str | None = None
    stop_by: str | None = None
    stop_reason: EndReason | None = None
    session_open: bool = False
    calls: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a run works, as it is written down."""

    workspace: str
    repository: str | None
    branch: str | None
    base: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run has used so far, and until when its account is used up."""

    tokens: int | None = None
    cost_usd: float | None = None
    limit_until: float | None = None
    guarded: int | None = None
    program_session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """What a run waits for without a process; ``until`` says when it goes on by itself."""

    waits_for: WaitsFor
    until: float | None = None
    detail: str | None = None
    snapshot: str | None = None


class RunRecords(Protocol):
    """What is known and written of the runs of one runner."""

    async def enter(
        self, run_id: str, state: State, evidence: Evidence, *, waits_for: str | None = None
    ) -> None:
        """Note a new state of a run that has not ended."""

    async def take(self, run_id: str, place: Place) -> bool:
        """Write down where a run works; ``False`` while another run works there."""
        ...

    async def open_session(self, run: Run) -> tuple[str, str]:
        """Open the session of a run; return its id and its token. Raises ``Problem``."""
        ...

    async def see(self, run_id: str) -> RunSight:
        """Return what is known of a run now."""
        ...

    async def wait(self, run_id: str, seconds: float, *, any_run: bool = False) -> None:
        """Wait until a run, or any run, may have changed, or for so long."""

    async def keep_session(self, run_id: str) -> None:
        """Note that the program of a session that does not call is alive."""

    async def judge(self, run_id: str, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Return whether a run's program may use a tool of its own. It may take minutes."""
        ...

    async def write_log(self, run_id: str, lines: Sequence[LogLine]) -> None:
        """Add lines to a run's log; a line that is there stays."""

    async def use(self, run_id: str, usage: Usage) -> None:
        """Note what a run has used."""

    async def park(self, run_id: str, park: Park) -> bool:
        """Note that a run waits without a process; ``False`` where that is not possible."""
        ...

    async def end(self, run_id: str, outcome: Outcome) -> None:
        """End a run and its session, if it has not ended."""
