"""What runners and servers say to each other, checked on both sides."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from aipm_core import Json
from aipm_runner.api import EndReason, Evidence, State
from aipm_runner.run_records import LogLine

LONGEST_WAIT_SECONDS = 25.0
MOST_REPORTS = 200
_ID = Field(min_length=1, max_length=200)
_TEXT = Field(default=None, max_length=20_000)
_PATH = Field(default=None, max_length=4096)


class Message(BaseModel):
    """What every message says: which runner speaks."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    owner: str = Field(pattern=r"^rnr_[0-9a-f]{1,64}$")


class ClaimRequest(Message):
    """Asks for work; ``holds`` are the runs this runner knows, ``machine`` is its name."""

    machine: str = Field(min_length=1, max_length=200)
    room: int = Field(ge=0, le=1000)
    wait_seconds: float = Field(default=0, ge=0, le=LONGEST_WAIT_SECONDS)
    programs: list[str] = Field(default_factory=list, max_length=1000)
    """Which programs this machine can start."""
    project_id: str | None = None
    under: str | None = None
    holds: list[str] = Field(default_factory=list, max_length=1000)


class WatchRequest(Message):
    """Asks what became of the runner's runs; waits for a change."""

    wait_seconds: float = Field(default=0, ge=0, le=LONGEST_WAIT_SECONDS)
    alive: list[str] = Field(default_factory=list, max_length=1000)
    """Runs whose session is to be kept, though it does not call."""


class PlaceReport(Message):
    """Says where a run works."""

    workspace: str = Field(min_length=1, max_length=4096)
    repository: str | None = _PATH
    branch: str | None = _PATH
    base: str | None = _PATH


class NativeRequest(Message):
    """Asks whether a program may use a tool of its own."""

    tool: str = Field(min_length=1, max_length=200)
    arguments: dict[str, Json]


class StateReport(BaseModel):
    """A run entered a state."""

    kind: Literal["state"] = "state"
    state: State
    evidence: Evidence
    waits_for: Literal["confirmation", "answer", "quota", "slot"] | None = None


class LogReport(BaseModel):
    """A run printed lines."""

    kind: Literal["log"] = "log"
    lines: list[LogLine] = Field(max_length=2000)


class UseReport(BaseModel):
    """A run has used so much, in all."""

    kind: Literal["use"] = "use"
    tokens: int | None = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    limit_until: float | None = None
    guarded: int | None = Field(default=None, ge=0, le=1)
    program_session: str | None = Field(default=None, max_length=500)


class ChangesReport(BaseModel):
    """A run has changed files, as git shows it."""

    kind: Literal["changes"] = "changes"
    text: str


class EndReport(BaseModel):
    """A run ended."""

    kind: Literal["end"] = "end"
    reason: EndReason
    evidence: Evidence
    exit_code: int | None = None
    detail: str | None = _TEXT
    snapshot: str | None = _PATH


Report: TypeAlias = Annotated[
    StateReport | LogReport | UseReport | ChangesReport | EndReport, Field(discriminator="kind")
]


class Numbered(BaseModel):
    """A report with its step: steps of a run are applied in order, each once."""

    step: int = Field(ge=1)
    report: Report


class Reports(Message):
    """Reports of one run, oldest first."""

    reports: list[Numbered] = Field(max_length=MOST_REPORTS)
