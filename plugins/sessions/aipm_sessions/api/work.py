"""Work for agents: who has some, what it is, and what agents are told again and again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aipm_core import Json, Purpose, Reader, ServiceKey, Session, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """An agent for which a session of one purpose should be running now, and why."""

    agent_id: str
    project_id: str
    purpose: Purpose
    reason: str
    task_id: str | None = None
    pool: bool = False
    """Whether the work is offered to several agents, of whom the first one gets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Work that nobody is needed for yet: ``cause`` is one word, ``text`` one sentence.

    ``of`` names what it waits for, if that has an id.
    """

    project_id: str
    cause: str
    text: str
    agent_id: str | None = None
    task_id: str | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedState:
    """Who starts agents says of a need what becomes of it: ``state``, ``text`` and more."""

    name: str
    read: Callable[[Reader, Need], Awaitable[Mapping[str, Json]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSource:
    """Work for sessions of one purpose. Lower ranks are offered first.

    ``topics`` names what wakes a session that waits for this work. ``look`` returns what the
    session should do now (``action``, ``instruction``, …), if anything. ``needs`` lists the agents
    that have such work waiting, whether or not a session runs. ``take`` is asked in the transaction
    in which somebody begins to start an agent for a need: it returns the need as it is then, or
    nothing if another agent was faster. ``waits`` lists what there is to do later, and why.
    """

    name: str
    purpose: Purpose
    rank: int
    topics: Callable[[Session], tuple[str, ...]]
    look: Callable[[Session], Awaitable[Mapping[str, Json] | None]]
    needs: Callable[[Reader], Awaitable[list[Need]]]
    take: Callable[[Tx, Need], Awaitable[Need | None]] | None = None
    waits: Callable[[Reader], Awaitable[list[Waiting]]] | None = None


class WorkList(Protocol):
    """What is there to do: one list that ``get_next_action``, status and supervisors all ask."""

    def sources(self, purpose: Purpose) -> list[WorkSource]:
        """Return the sources for sessions of one purpose, by rank."""
        ...

    async def needs(self, db: Reader) -> list[Need]:
        """Return every need of every source."""
        ...

    async def waits(self, db: Reader) -> list[Waiting]:
        """Return what there is to do that nobody is needed for yet, and why."""
        ...

    async def take(self, tx: Tx, need: Need) -> Need | None:
        """Let an agent have the work it is about to be started for; nothing if it is gone."""
        ...


class MissingSessions(Protocol):
    """Sessions that are needed and not there, for whoever starts agents."""

    async def missing(self, db: Reader) -> list[Need]:
        """Return one need for each session that neither runs nor is claimed by a supervisor."""
        ...

    async def topics(self) -> tuple[str, ...]:
        """Name everything that is woken when a session may be needed that was not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A standing text for the agents in sessions of one purpose."""

    purpose: Purpose
    text: str


class Instructions(Protocol):
    """Everything that agents are told again and again."""

    def text(self, purpose: Purpose) -> str:
        """Return all texts for a purpose, blank lines between them; empty if there are none."""
        ...


MISSING_SESSIONS = ServiceKey[MissingSessions]("sessions.missing")
WORK = ServiceKey[WorkList]("sessions.work")
INSTRUCTIONS = ServiceKey[Instructions]("sessions.instructions")
