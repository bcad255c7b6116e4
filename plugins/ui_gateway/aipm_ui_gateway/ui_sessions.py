"""Opens, finds and ends people's sessions with agents."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY, Agent

from aipm_core import PluginContext, Reader, Row, Tx, new_id
from aipm_ui_gateway.api import UiSession, UiSessionObserver
from aipm_ui_gateway.config import UiGatewayConfig

_OPEN = "select * from ui_sessions where closed_at is null and "


def topic(session_id: str) -> str:
    """Name what is woken when a session ends."""
    return f"ui_session:{session_id}"


class SqlUiSessions:
    """The ``UiSessions`` service."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)
        self._observers: list[UiSessionObserver] = []

    def observe(self, observer: UiSessionObserver) -> None:
        """Tell an observer about sessions from now on."""
        self._observers.append(observer)

    async def open(self, tx: Tx, person: Agent, project_id: str, agent_id: str) -> UiSession:
        """Start a session; a project or agent that is not the person's to see does not exist."""
        if not await self._may_talk(tx, person, project_id, agent_id):
            raise self._ctx.refuse("agent_not_found", 404)
        session = UiSession(
            id=new_id("uis"),
            person_id=person.id,
            project_id=project_id,
            agent_id=agent_id,
            created_at=self._ctx.now(),
        )
        await tx.run(
            "insert into ui_sessions (id, person_id, project_id, agent_id, created_at) "
            "values (?, ?, ?, ?, ?)",
            *(session.id, person.id, project_id, agent_id, session.created_at),
        )
        for observer in self._observers:
            await observer.opened(tx, session)
        return session

    async def _may_talk(self, tx: Tx, person: Agent, project_id: str, agent_id: str) -> bool:
        agent = await self._directory.agent(tx, agent_id)
        # The session acts as this agent: a person must never get to act as another person.
        return (
            agent is not None
            and agent.kind == "ai"
            and await self._directory.is_member(tx, person.id, project_id)
            and await self._directory.is_member(tx, agent_id, project_id)
        )

    async def find(self, db: Reader, session_id: str) -> UiSession | None:
        """Find a session that is open."""
        row = await db.one(_OPEN + "id = ?", session_id)
        return _session(row) if row else None

    async def close(self, tx: Tx, session_id: str) -> bool:
        """End a session and tell the observers."""
        session = await self.find(tx, session_id)
        if session is None:
            return False
        await tx.run(
            "update ui_sessions set closed_at = ? where id = ?", self._ctx.now(), session_id
        )
        for observer in self._observers:
            await observer.closed(tx, session)
        tx.wake(topic(session_id))
        return True

    async def owned_by(self, db: Reader, person_id: str) -> list[UiSession]:
        """List a person's open sessions, newest first."""
        rows = await db.all(
            _OPEN + "person_id = ? order by created_at desc, id limit 1000", person_id
        )
        return [_session(row) for row in rows]


def _session(row: Row) -> UiSession:
    return UiSession(
        id=row["id"],
        person_id=row["person_id"],
        project_id=row["project_id"],
        agent_id=row["agent_id"],
        created_at=row["created_at"],
        closed_at=row["closed_at"],
    )
