"""Projects, their members, and the tokens of people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aipm_core import Json, Kind, Reader, Role, ServiceKey, Session, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project agents work on. Without a directory it has no chat files.

    While it is paused its agents do nothing: their calls are refused, and none is started.
    """

    id: str
    name: str
    directory: Path | None
    created_at: str
    paused: bool = False
    archived: bool = False
    pool: bool = False
    """Whether its workers take tasks of nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent or a person."""

    id: str
    name: str
    kind: Kind
    role: Role
    parent_id: str | None
    created_at: str


def person_session(person: Agent) -> Session:
    """Return the session in which a person calls tools; it belongs to no one project."""
    return Session(
        id=f"person:{person.id}",
        agent_id=person.id,
        purpose="ui",
        role=person.role,
        kind=person.kind,
        agent_name=person.name,
    )


OPERATOR = "operator"
"""Who acts on the command line of the server's machine without being named; nobody's id."""


def operator_session() -> Session:
    """Return the session of whoever has the command line of the server's machine.

    Only a command makes one, in its own process: its id is none that a token can lead to.
    """
    return Session(
        id=OPERATOR,
        agent_id=OPERATOR,
        purpose="ui",
        role="manager",
        kind="human",
        agent_name=OPERATOR,
    )


def is_operator(session: Session) -> bool:
    """Return whether a caller is the operator, who belongs to no project and may see them all."""
    return session.id == OPERATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFields:
    """Fields of agents that another plugin keeps.

    ``check`` raises ``CallError`` for values that cannot be; ``change`` sets those that are given.
    """

    name: str
    fields: tuple[str, ...]
    check: Callable[[Mapping[str, Json]], None]
    change: Callable[[Tx, str, Mapping[str, Json]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectObserver:
    """A say when a project changes, inside the same transaction.

    ``moved`` is told that it has another directory; ``left`` that an agent does not belong to it
    any more (project, agent, and who saw to that).
    """

    name: str
    moved: Callable[[Tx, str], Awaitable[None]] | None = None
    left: Callable[[Tx, str, str, str], Awaitable[None]] | None = None


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
        """Return whether an agent belongs to a project."""
        ...

    async def reach(self, db: Reader, person: Session) -> list[str]:
        """List the ids of the projects a person may look into; the operator into all."""
        ...

    async def is_ancestor(self, db: Reader, upper: str, lower: str) -> bool:
        """Return whether ``upper`` is a parent, grandparent … of ``lower``."""
        ...


def members_topic(project_id: str) -> str:
    """Name what is woken when somebody joins or leaves a project, or is another than before."""
    return f"members:{project_id}"


def project_topic(project_id: str) -> str:
    """Name what is woken when a project itself is changed."""
    return f"project:{project_id}"


TOKENS_CHANGED = "ui_tokens"
"""The topic that is woken when a person's token is revoked."""


class People(Protocol):
    """Tokens that people's user interfaces carry."""

    async def person_of(self, token: str) -> Agent | None:
        """Return the person a token belongs to; ``None`` if it is unknown, expired or revoked."""
        ...


DIRECTORY = ServiceKey[Directory]("sessions.directory")
PEOPLE = ServiceKey[People]("sessions.people")
