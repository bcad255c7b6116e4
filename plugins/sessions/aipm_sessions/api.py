"""What other plugins may know about projects, agents and sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aipm_core import Json, Reader, ServiceKey, Session, Tx
from aipm_core.models import Kind, Purpose, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project agents work on. Without a directory it has no chat files."""

    id: str
    name: str
    directory: Path | None
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent or a person."""

    id: str
    name: str
    kind: Kind
    role: Role
    parent_id: str | None
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session as other plugins see it. ``last_seen`` is seconds since the epoch."""

    session: Session
    created_at: str
    last_seen: float


class Directory(Protocol):
    """Who and what exists. ``db`` is the store, or the transaction one is in."""

    async def project(self, db: Reader, project_id: str) -> Project | None:
        """Find a project."""
        ...

    async def agent(self, db: Reader, agent_id: str) -> Agent | None:
        """Find an agent."""
        ...

    async def projects(self, db: Reader) -> list[Project]:
        """List all projects, by id."""
        ...

    async def members(self, db: Reader, project_id: str) -> list[Agent]:
        """List the agents of a project, by id."""
        ...

    async def projects_of(self, db: Reader, agent_id: str) -> list[str]:
        """List the ids of the projects an agent belongs to."""
        ...

    async def is_member(self, db: Reader, agent_id: str, project_id: str) -> bool:
        """Say whether an agent belongs to a project."""
        ...

    async def stands_above(self, db: Reader, upper: str, lower: str) -> bool:
        """Say whether ``upper`` is a parent, grandparent … of ``lower``."""
        ...


class SessionObserver(Protocol):
    """A plugin that wants a say when sessions open and close, inside the same transaction."""

    async def purpose_for(self, tx: Tx, agent_id: str, project_id: str) -> Purpose | None:
        """Say what an agent that names no purpose should do now; ``None`` for no opinion."""
        ...

    async def opened(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """React to a new session; what is returned goes into the reply of ``authenticate``."""
        ...

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        """React to the end of a session: ``logout``, ``completed``, ``expired``, ``revoked``."""
        ...


class SessionDesk(Protocol):
    """Sessions of this store."""

    def observe(self, observer: SessionObserver) -> None:
        """Tell an observer about sessions from now on. Call it in a plugin's constructor."""
        ...

    async def open(
        self, tx: Tx, agent: Agent, project_id: str, purpose: Purpose
    ) -> tuple[Session, str]:
        """Open a session for an agent whose identity is established; return it and its token."""
        ...

    async def close(self, tx: Tx, session_id: str, reason: str) -> bool:
        """End a session; ``False`` if it has already ended."""
        ...

    async def find(self, db: Reader, session_id: str) -> SessionInfo | None:
        """Find a session that has not ended."""
        ...

    async def live(
        self, db: Reader, project_id: str | None = None, agent_id: str | None = None
    ) -> list[SessionInfo]:
        """List sessions that have not ended, newest first, of one project or agent if named."""
        ...

    async def check_open(self, tx: Tx, session: Session) -> None:
        """Raise ``SessionInvalid`` if a session has ended since its call began.

        A call can outlive its session: the process was killed and its session ended, while its
        last call was still on the way. What it would do may have been done again by then.
        """
        ...

    def seen(self, session_id: str) -> None:
        """Note that a session is alive, as every call of it does."""
        ...


TOKENS_CHANGED = "ui_tokens"
"""The topic that is woken when a person's token is revoked."""


class People(Protocol):
    """Tokens that people's user interfaces carry."""

    async def whose(self, token: str) -> Agent | None:
        """Say which person a token belongs to; ``None`` if it is unknown, expired or revoked."""
        ...


DIRECTORY = ServiceKey[Directory]("sessions.directory")
SESSION_DESK = ServiceKey[SessionDesk]("sessions.desk")
PEOPLE = ServiceKey[People]("sessions.people")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """An agent for which a session of one purpose should be running now, and why."""

    agent_id: str
    project_id: str
    purpose: Purpose
    reason: str


class WorkSource(Protocol):
    """A plugin that knows of work for sessions of one purpose."""

    name: str
    purpose: Purpose
    rank: int
    """Lower ranks are offered first."""

    def topics(self, session: Session) -> tuple[str, ...]:
        """Name what wakes a session that waits for this work."""
        ...

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Return what the session should do now (``action``, ``instruction``, …), if anything."""
        ...

    async def needs(self, db: Reader) -> list[Need]:
        """List the agents that have such work waiting, whether or not a session runs."""
        ...


class WorkBoard(Protocol):
    """What is there to do: one list that ``get_next_action``, status and supervisors all ask."""

    def add(self, source: WorkSource) -> None:
        """Take in a source. Call it in a plugin's constructor."""
        ...

    def sources(self, purpose: Purpose) -> list[WorkSource]:
        """Return the sources for sessions of one purpose, by rank."""
        ...

    async def needs(self, db: Reader) -> list[Need]:
        """Return every need of every source."""
        ...


class Guidance(Protocol):
    """Standing instructions that plugins add to what an agent is told in a chat session."""

    def add(self, purpose: Purpose, text: str) -> None:
        """Add a text for sessions of one purpose. Call it in a plugin's constructor."""
        ...

    def text(self, purpose: Purpose) -> str:
        """Return all texts for a purpose, blank lines between them; empty if there are none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Something that waits for a person's yes or no."""

    id: str
    kind: str
    project_id: str
    agent_id: str
    summary: str
    created_at: str
    expires_at: str | None = None


class DecisionSource(Protocol):
    """A plugin that asks people for decisions."""

    async def pending(self, db: Reader, project_id: str | None) -> list[Decision]:
        """List what waits, oldest first."""
        ...

    async def answer(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None
    ) -> bool:
        """Answer one of this source's decisions; ``False`` if the id is not one of them.

        ``by`` is the id of a person, or ``operator`` for whoever has the command line. Raises
        ``CallError`` 409 when it was answered before and 403 when ``by`` may not answer.
        """
        ...


class DecisionBoard(Protocol):
    """Everything that waits for a person, in one place."""

    def add(self, source: DecisionSource) -> None:
        """Take in a source. Call it in a plugin's constructor."""
        ...

    async def pending(self, db: Reader, project_id: str | None = None) -> list[Decision]:
        """List what waits, oldest first."""
        ...

    async def answer(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None = None
    ) -> None:
        """Answer a decision, wherever it comes from; ``CallError`` 404 if nobody knows it."""
        ...


WORK_BOARD = ServiceKey[WorkBoard]("sessions.work_board")
GUIDANCE = ServiceKey[Guidance]("sessions.guidance")
DECISIONS = ServiceKey[DecisionBoard]("sessions.decisions")
