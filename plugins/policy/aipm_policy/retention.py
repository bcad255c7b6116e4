"""How long decisions, questions and permissions are kept."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention, old_rows

from aipm_core import PluginContext
from aipm_policy.config import PolicyConfig
from aipm_policy.pruning import Pruning

_SWEEP_SECONDS = 60.0
# No approval outlives its question's time, so what has run out is of no use to anybody.
_QUESTIONS = (
    "delete from confirmations where id in (select id from confirmations "
    "where status <> 'pending' and expires_at < ? limit ?)"
)
_GRANTS = (
    "delete from policy_grants where id in (select id from policy_grants "
    "where expires_at < ? limit ?)"
)
_CALLS = "delete from policy_calls where seq in (select seq from policy_calls where at < ? limit ?)"
_RULES = (
    "delete from policy_rules where id in (select id from policy_rules "
    "where expires_at < ? limit ?)"
)


def retention_rules(ctx: PluginContext[PolicyConfig]) -> Iterable[Retention]:
    """Return the life of everything this plugin stores."""
    prune, days = Pruning(ctx).forget, ctx.config.audit_days
    yield Retention(name="policy_audit", days=days, forget=prune, every=_SWEEP_SECONDS)
    days = ctx.config.keep_days
    yield Retention(name="confirmations", days=days, forget=old_rows(_QUESTIONS))
    yield Retention(name="policy_grants", days=days, forget=old_rows(_GRANTS))
    yield Retention(name="policy_rules", days=days, forget=old_rows(_RULES))
    days = ctx.config.rehearsal_days
    yield Retention(name="policy_calls", days=days, forget=old_rows(_CALLS))
