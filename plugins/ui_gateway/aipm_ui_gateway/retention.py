"""How long events, command ids and sessions are kept."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention, old_rows
from aipm_sessions.api import PERSON_CALLS

from aipm_core import PluginContext, Tx, iso
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.ui_sessions import SqlUiSessions

_BATCH = 100  # sessions in one transaction; each takes its events with it
_HOURS, _HOUR = 24, 3600
# Commands are remembered with all other calls of people; these are left from before that.
_COMMANDS = (
    "delete from ui_commands where (person_id, id) in "
    "(select person_id, id from ui_commands where at < ? limit ?)"
)


class RetentionRules:
    """The lives of what user interfaces can ask for again."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig], sessions: SqlUiSessions) -> None:
        self._ctx = ctx
        self._sessions = sessions

    def records(self) -> Iterable[Retention]:
        """Return the life of everything that is stored for user interfaces."""
        config = self._ctx.config
        every = config.sweep_seconds
        days = config.keep_events_days
        yield Retention(name="events", days=days, forget=self._forget_events, every=every)
        days = config.keep_commands_hours / _HOURS
        forget = self._ctx.services.use(PERSON_CALLS).forget
        yield Retention(name="person_calls", days=days, forget=forget, every=every)
        yield Retention(name="ui_commands", days=days, forget=old_rows(_COMMANDS), every=every)
        days, often = config.session_idle_hours / _HOURS, config.session_idle_hours * _HOUR / 4
        idle = self._sessions.end_idle
        yield Retention(name="idle ui_sessions", days=days, forget=idle, every=min(every, often))
        days = config.keep_sessions_days
        yield Retention(name="ui_sessions", days=days, forget=self._forget_sessions, every=every)

    async def _forget_events(self, tx: Tx, before: float) -> int:
        keep = self._ctx.config.keep_events_per_session
        return await self._ctx.events.forget(tx, before, keep)

    async def _forget_sessions(self, tx: Tx, before: float) -> int:
        rows = await tx.all(
            "select id from ui_sessions where closed_at < ? order by closed_at limit ?",
            *(iso(before), _BATCH),
        )
        for row in rows:
            await self._ctx.events.forget_session(tx, row["id"])
            await tx.run("delete from ui_threads where session_id = ?", row["id"])
            await tx.run("delete from ui_sessions where id = ?", row["id"])
        return len(rows)
