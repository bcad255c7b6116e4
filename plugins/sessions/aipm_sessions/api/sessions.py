"""Sessions as other plugins see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from aipm_core import Json, Purpose, Reader, ServiceKey, Session, Tx
from aipm_sessions.api.members import Agent

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session as other plugins see it. ``last_seen`` is seconds since the epoch."""

    session: Session
    created_at: str
    last_seen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionObserver:
    """A say when sessions open and close, inside the same transaction.

    ``purpose_for`` says what an agent that names no purpose should do now, or ``None``. What
    ``opened`` returns goes into the reply of ``authenticate``. ``closed`` is told the reason:
    ``logout``, ``completed``, ``expired``, ``revoked``, or ``replaced`` by newer sessions of the
    same agent. ``waiting`` is told, outside of any transaction, that a session has begun to wait
    for something to do, once that takes long enough to be seen, and that it waits no more.
    """

    name: str
    purpose_for: Callable[[Tx, str, str], Awaitable[Purpose | None]] | None = None
    opened: Callable[[Tx, Session], Awaitable[Mapping[str, Json]]] | None = None
    closed: Callable[[Tx, Session, str], Awaitable[None]] | None = None
    waiting: Callable[[Session, bool], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKeeper:
    """A plugin with sessions of its own kind; it wakes ``session_topic`` when one ends.

    ``has_ended`` says of a session's id whether it is one of its sessions, and over.
    """

    name: str
    has_ended: Callable[[Reader, str], Awaitable[bool]]


def session_topic(session_id: str) -> str:
    """Name what is woken when a session ends."""
    return f"session:{session_id}"


class SessionStore(Protocol):
    """Sessions of this store."""

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

    async def follow(self, tx: Tx, session_id: str) -> None:
        """Note that a user interface follows a session, now and when it comes back."""
        ...

    async def followed(self, db: Reader, project_id: str, agent_id: str) -> list[Session]:
        """List an agent's sessions that are followed.

        Whoever tells user interfaces of a change writes an event for these and no other, so that
        a change costs the same however many sessions there are.
        """
        ...

    async def check_going_on(self, db: Reader, session: Session) -> None:
        """Raise ``SessionInvalid`` if a session has ended, whoever keeps it.

        One that nobody keeps is not judged. Who has reported completion may still log out.
        """
        ...

    async def wait(
        self,
        session: Session,
        topics: Sequence[str],
        look: Callable[[], Awaitable[T | None]],
        seconds: float,
    ) -> T | None:
        """Wait as ``store.wait_until`` does; ``SessionInvalid`` as soon as the session ends."""
        ...

    def seen(self, session_id: str) -> None:
        """Note that a session is alive, as every call of it does."""
        ...


SESSIONS = ServiceKey[SessionStore]("sessions.sessions")


class AgentTokens(Protocol):
    """Tokens that agents' programs keep, so that no passkey passes through a model."""

    prefix: str
    """How such a token begins, and no other does."""

    async def session_of(self, token: str) -> Session | None:
        """Return the session of a token, opened if there is none; ``None`` if it is worth nothing.

        Whoever hands the session in with a call has it checked like every session: a call whose
        session ends while it waits does not run.
        """
        ...


AGENT_TOKENS = ServiceKey[AgentTokens]("sessions.agent_tokens")
