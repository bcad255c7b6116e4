"""Opens, finds and ends people's sessions with agents."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY, Agent, session_topic

from aipm_core import PluginContext, Reader, Row, Tx, new_id
from aipm_ui_gateway.api import UiHooks, UiSession, UiSessionObserver
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.presence import Presence

_ENDED_AT_ONCE = 100
_OPEN = "select * from ui_sessions where closed_at is null and "


class SqlUiSessions:
    """The ``UiSessions`` service."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)
        self.presence = Presence()

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
            "insert into ui_sessions (id, person_id, project_id, agent_id, created_at, last_used) "
            "values (?, ?, ?, ?, ?, ?)",
            *(session.id, person.id, project_id, agent_id, session.created_at, self._ctx.clock()),
        )
        for observer in self._observers():
            if observer.opened is not None:
                await observer.opened(tx, session)
        return session

    def _observers(self) -> Iterable[UiSessionObserver]:
        return (owned.record for owned in self._ctx.given(UiHooks.aipm_ui_session_observers))

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

    async def of_person(self, db: Reader, person_id: str, session_id: str | None) -> UiSession:
        """Return a person's own open session; one of somebody else is as unknown as none."""
        if session_id is None:
            raise self._ctx.refuse("session_required", 400)
        session = await self.find(db, session_id)
        if session is None or session.person_id != person_id:
            raise self._ctx.refuse("session_not_found", 404)
        self.presence.used(session.id)
        return session

    async def close(self, tx: Tx, session_id: str) -> bool:
        """End a session and tell the observers."""
        session = await self.find(tx, session_id)
        if session is None:
            return False
        await tx.run(
            "update ui_sessions set closed_at = ? where id = ?", self._ctx.now(), session_id
        )
        for observer in self._observers():
            if observer.closed is not None:
                await observer.closed(tx, session)
        tx.wake(session_topic(session_id))
        return True

    async def end_idle(self, tx: Tx, before: float) -> int:
        """End sessions nobody has used since a moment, a few at a time; say how many were due."""
        used = "update ui_sessions set last_used = ? where closed_at is null and "
        now = self._ctx.clock()
        for session_id in self.presence.take():
            await tx.run(used + "id = ?", now, session_id)
        await tx.run(used + "last_used = 0", now)  # opened when nobody counted yet
        rows = await tx.all(
            _OPEN + "last_used < ? order by last_used limit ?", *(before, _ENDED_AT_ONCE)
        )
        for row in rows:
            if await self._busy(tx, row["id"]):
                await tx.run(used + "id = ?", now, row["id"])
            else:
                await self.close(tx, row["id"])
        return len(rows)

    async def _busy(self, tx: Tx, session_id: str) -> bool:
        for owned in self._ctx.given(UiHooks.aipm_ui_busy_checks):
            if await owned.record.check(tx, session_id):
                return True
        return False

    async def has_ended(self, db: Reader, session_id: str) -> bool:
        """Return whether this is a person's session, and over."""
        row = await db.one("select closed_at from ui_sessions where id = ?", session_id)
        return row is not None and row["closed_at"] is not None

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
