"""The inbox: where notifications are left, and what a session has to see of it."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_sessions.api import SESSIONS

from aipm_core import Event, PluginContext, Purpose, Reader, Session, Tx, new_id
from aipm_notifications.api import NotificationType, inbox_topic
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.pauses import note_pause, paused_since
from aipm_notifications.views import read_topic

_HOUR = 3600.0
# Every call pays for two checks, and nearly always nothing is unread: one step into the index of
# unread rows says so (3.4 µs). Only then it matters for whom, of what kind, and until when
# (`audience in (…)` would cost 2 µs more than two terms).
_ANYTHING = (
    "select 1 from notifications where read_at is null and agent_id = ? and project_id = ? limit 1"
)
_ONE = (
    "select 1 from notifications where read_at is null and agent_id = ? and project_id = ? "
    "and audience = {audience} and interrupt = {interrupt} and expires_at > ? "
    "and (session_id is null or session_id = ?)"
)
_ALL, _OWN = "''", "?"
_INTERRUPTED = (
    f"{_ONE.format(audience=_ALL, interrupt=1)} union all "
    f"{_ONE.format(audience=_OWN, interrupt=1)} limit 1"
)
_UNREAD = "select {} as interrupts, {} as ordinary".format(
    *(
        f"exists ({_ONE.format(audience=_ALL, interrupt=kind)}) "
        f"or exists ({_ONE.format(audience=_OWN, interrupt=kind)})"
        for kind in (1, 0)
    )
)
_MEANT = (
    "select id, meant_for from notifications where read_at is null and agent_id = ? "
    "and project_id = ? and interrupt = 1 and meant_for is not null"
)
_LAST = (
    "select * from (select seq from notifications where read_at is null and agent_id = ? "
    "and project_id = ? and audience = ? and interrupt = 0 and expires_at > ? "
    "and (session_id is null or session_id = ?) "
    "order by expires_at desc limit 1) as last_of_audience"
)
_NEWEST = f"select max(seq) as seq from ({_LAST} union all {_LAST}) as newest"


class SqlInbox:
    """The ``Inbox`` service."""

    def __init__(self, ctx: PluginContext[NotificationsConfig]) -> None:
        self._ctx = ctx
        self._store = ctx.store
        self._clock = ctx.clock
        self._sessions = ctx.services.find(SESSIONS)

    async def put(
        self,
        tx: Tx,
        *,
        agent_id: str,
        project_id: str,
        type: NotificationType,  # noqa: A002
        message: str,
        action: str | None = None,
        instruction: str | None = None,
        audience: Purpose | None = None,
        task_id: str | None = None,
        conversation_id: str | None = None,
        reason: str | None = None,
        session_id: str | None = None,
    ) -> str:
        """Leave one in the caller's transaction and return its id."""
        notification_id = new_id("ntf")
        meant_for = None
        if session_id is None and type == "interrupt" and action != "pause":
            meant_for = await self._only_session(tx, agent_id, project_id, audience)
        await tx.run(
            "insert into notifications (id, agent_id, project_id, audience, type, interrupt, "
            "action, message, instruction, task_id, conversation_id, reason, session_id, "
            "meant_for, created_at, expires_at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(notification_id, agent_id, project_id, audience or "", type),
            *(
                int(type == "interrupt"),
                action,
                message,
                instruction,
                task_id,
                conversation_id,
                reason,
                session_id,
                meant_for,
            ),
            *(self._ctx.now(), self._clock() + self._ctx.config.ttl_hours * _HOUR),
        )
        if action is not None:
            await note_pause(tx, notification_id)
        shown = {"notificationId": notification_id, "type": type, "message": message}
        shown |= {"action": action} if action else {}
        shown |= {"taskId": task_id} if task_id else {}
        await self._show(tx, agent_id, project_id, audience, shown)
        tx.wake(inbox_topic(project_id, agent_id))
        return notification_id

    async def unread(self, db: Reader, agent_id: str, project_id: str) -> int:
        """Count the unread ones of an agent in a project."""
        row = await db.one(
            "select count(*) as n from notifications where read_at is null and agent_id = ? "
            "and project_id = ? and expires_at > ?",
            *(agent_id, project_id, self._clock()),
        )
        return int(row["n"]) if row else 0

    async def interrupted(self, db: Reader, session: Session) -> bool:
        """Return whether an unread interrupt holds this session."""
        if await db.one(_ANYTHING, session.agent_id, session.project_id) is None:
            return False
        return await db.one(_INTERRUPTED, *self._asked(session)) is not None

    async def kinds(self, session: Session) -> tuple[bool, bool]:
        """Return whether the session has unread interrupts, and whether it has ordinary ones."""
        if await self._store.one(_ANYTHING, session.agent_id, session.project_id) is None:
            return False, False
        asked = self._asked(session)
        row = await self._store.one(_UNREAD, *asked, *asked)
        return (bool(row["interrupts"]), bool(row["ordinary"])) if row else (False, False)

    async def newest(self, db: Reader, session: Session) -> int:
        """Return the number of the newest ordinary one this session has not read, or 0."""
        whose, since = (session.agent_id, session.project_id), (self._clock(), session.id)
        row = await db.one(_NEWEST, *whose, "", *since, *whose, session.purpose, *since)
        return int(row["seq"] or 0) if row else 0

    async def paused_since(self, db: Reader, session: Session) -> str | None:
        """Return when the session was asked to pause, unless it was asked to resume since."""
        return await paused_since(db, session)

    async def settle(self, tx: Tx, *, agent_id: str, project_id: str, task_id: str) -> None:
        """Count interrupts about a task as read: nothing is left of it to stop."""
        rows = await tx.all(
            "update notifications set read_at = ? where read_at is null and agent_id = ? "
            "and project_id = ? and interrupt = 1 and task_id = ? returning id",
            *(self._clock(), agent_id, project_id, task_id),
        )
        tx.wake(*(read_topic(project_id, row["id"]) for row in rows))

    async def hand_over(self, tx: Tx, session_id: str, successor_id: str) -> None:
        """Let interrupts for a session hold the one that goes on with its work."""
        await tx.run(
            "update notifications set session_id = ? where read_at is null and session_id = ?",
            *(successor_id, session_id),
        )

    async def spare(self, tx: Tx, session: Session, predecessors: Sequence[str]) -> None:
        """Let a session that begins other work not be held by what was meant for one that is over.

        It is told all the same. What was meant for a predecessor in its own work holds it.
        """
        rows = await tx.all(_MEANT, session.agent_id, session.project_id)
        if not rows:
            return
        live = await self._sessions.live(tx, *_place(session)) if self._sessions else []
        kept = {session.id, *predecessors, *(one.session.id for one in live)}
        for row in rows:
            if row["meant_for"] not in kept:
                await tx.run("update notifications set interrupt = 0 where id = ?", row["id"])

    def _asked(self, session: Session) -> tuple[str | float, ...]:
        """Return what is asked with: what is for every purpose, then what is for the session's."""
        whose, since = (session.agent_id, session.project_id), (self._clock(), session.id)
        return *whose, *since, *whose, session.purpose, *since

    async def _only_session(
        self, tx: Tx, agent_id: str, project_id: str, audience: Purpose | None
    ) -> str | None:
        """Return the one session that can be meant, or ``None`` if there are more or none."""
        live = await self._sessions.live(tx, project_id, agent_id) if self._sessions else []
        meant = [one.session.id for one in live if audience in (None, one.session.purpose)]
        return meant[0] if len(meant) == 1 else None

    async def _show(
        self,
        tx: Tx,
        agent_id: str,
        project_id: str,
        audience: Purpose | None,
        payload: dict[str, str],
    ) -> None:
        """Let the user interfaces that follow the agent's sessions know."""
        if self._sessions is None:
            return
        for session in await self._sessions.followed(tx, project_id, agent_id):
            if audience in (None, session.purpose):
                event = Event(type="onNotification", payload=payload, session_id=session.id)
                await self._ctx.events.record(tx, event)


def _place(session: Session) -> tuple[str, str]:
    return session.project_id, session.agent_id
