"""How long the conversations of user interfaces are kept."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention, old_rows
from aipm_ui_gateway.api import UiSessions

from aipm_agent_loop.config import AgentLoopConfig
from aipm_core import PluginContext, Reader, Row, Tx, iso

_BATCH = 50  # conversations looked at together
# What was taken stands in the conversation as well, images and all.
_INPUTS = (
    "delete from agent_inputs where (session_id, number) in "
    "(select session_id, number from agent_inputs "
    "where status <> 'queued' and created_at < ? limit ?)"
)
_QUIET = (
    "select t.session_id from agent_threads t where t.session_id > ? and t.owner is null "
    "and not exists (select 1 from agent_runs r where r.session_id = t.session_id "
    "and (r.status = 'running' or r.ended_at >= ?)) "
    "and not exists (select 1 from agent_inputs i where i.session_id = t.session_id "
    "and (i.status = 'queued' or i.created_at >= ?)) order by t.session_id limit ?"
)
_ALL_OF_IT = (
    "delete from agent_calls where session_id = ?",
    "delete from agent_messages where session_id = ?",
    "delete from agent_runs where session_id = ?",
    "delete from agent_inputs where session_id = ?",
    "delete from agent_threads where session_id = ?",
)


class RetentionRules:
    """The lives of conversations: they end with their session, and are kept for a while."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig], sessions: UiSessions) -> None:
        self._config = ctx.config
        self._sessions = sessions

    def records(self) -> Iterable[Retention]:
        """Return the life of everything this plugin stores."""
        inputs, days = old_rows(_INPUTS, text=True), self._config.keep_inputs_days
        yield Retention(name="agent_inputs", days=days, forget=inputs)
        days = self._config.keep_days
        yield Retention(name="agent_threads", days=days, forget=self._forget_conversations)

    async def _forget_conversations(self, tx: Tx, before: float) -> int:
        moment, place = iso(before), ""
        while rows := await tx.all(_QUIET, place, moment, moment, _BATCH):
            over = [row for row in rows if await self._is_over(tx, row)]
            for row in over:
                for statement in _ALL_OF_IT:
                    await tx.run(statement, row["session_id"])
            if over:
                return len(over)
            place = rows[-1]["session_id"]
        return 0

    async def _is_over(self, tx: Tx, row: Row) -> bool:
        return await self._sessions.find(tx, row["session_id"]) is None


async def busy(db: Reader, session_id: str) -> bool:
    """Return whether a run goes on in a session, or is about to begin."""
    row = await db.one(
        "select 1 from agent_runs where session_id = ? and status = 'running' union all "
        "select 1 from agent_inputs where session_id = ? and status = 'queued' limit 1",
        *(session_id, session_id),
    )
    return row is not None
