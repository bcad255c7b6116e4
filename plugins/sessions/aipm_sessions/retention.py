"""How long sessions, tokens and claims are remembered."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention, old_rows

from aipm_core import PluginContext, Tx, iso
from aipm_sessions.config import SessionsConfig
from aipm_sessions.person_calls import forget_calls

_BATCH = 100  # sessions in one transaction; each takes its events with it
_TOKENS = (
    "delete from ui_tokens where id in (select id from ui_tokens where expires_at < ? limit ?)"
)
_AGENT_TOKENS = (
    "delete from agent_tokens where id in "
    "(select id from agent_tokens where expires_at < ? limit ?)"
)
_CLAIMS = (
    "delete from work_claims where id in (select id from work_claims where expires_at <= ? limit ?)"
)
_CODES = (
    "delete from login_codes where code_hash in "
    "(select code_hash from login_codes where expires_at < ? limit ?)"
)


class RetentionRules:
    """The lives of this plugin's tables."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx

    def records(self) -> Iterable[Retention]:
        """Return the life of everything that is not kept until people delete it."""
        days = self._ctx.config.keep_days
        yield Retention(name="sessions", days=days, forget=self._forget_sessions)
        yield Retention(name="ui_tokens", days=days, forget=old_rows(_TOKENS))
        yield Retention(name="agent_tokens", days=days, forget=old_rows(_AGENT_TOKENS))
        yield Retention(name="work_claims", days=1, forget=old_rows(_CLAIMS))
        yield Retention(name="login_codes", days=1, forget=old_rows(_CODES))
        # A plugin that takes commands says how long by a record of the same name.
        yield Retention(name="person_calls", days=3, forget=forget_calls)

    async def _forget_sessions(self, tx: Tx, before: float) -> int:
        rows = await tx.all(
            "select id from sessions where ended_at < ? order by ended_at limit ?",
            *(iso(before), _BATCH),
        )
        for row in rows:
            await self._ctx.events.forget_session(tx, row["id"])
            await tx.run("delete from sessions where id = ?", row["id"])
        return len(rows)
