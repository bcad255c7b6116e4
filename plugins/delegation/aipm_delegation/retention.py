"""How long delegations are kept that have come to an end."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention, old_rows

from aipm_delegation.config import DelegationConfig

_ENDED = (
    "delete from chat_delegations where id in (select id from chat_delegations "
    "where status in ('completed', 'failed') and processed_at < ? limit ?)"
)


def retention_rules(config: DelegationConfig) -> Iterable[Retention]:
    """Return the life of a delegation; one that is not over has no end."""
    forget = old_rows(_ENDED, text=True)
    yield Retention(name="chat_delegations", days=config.keep_days, forget=forget)
