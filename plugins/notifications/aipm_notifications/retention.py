"""How long notifications and withheld results are kept."""

from __future__ import annotations

from aipm_operations.api import Retention, old_rows

from aipm_notifications.config import NotificationsConfig

_SWEEP_SECONDS = 60.0
_EXPIRED = (
    "delete from notifications where seq in (select seq from notifications "
    "where read_at is null and expires_at <= ? limit ?)"
)
_READ = (
    "delete from notifications where seq in (select seq from notifications "
    "where read_at is not null and read_at <= ? limit ?)"
)
_WITHHELD = (
    "delete from withheld_results where seq in (select seq from withheld_results "
    "where at <= ? order by seq limit ?)"
)


def retention_rules(config: NotificationsConfig) -> tuple[Retention, ...]:
    """Return the life of everything this plugin stores."""
    days = config.keep_days
    return (
        Retention(
            name="unread notifications", days=0, forget=old_rows(_EXPIRED), every=_SWEEP_SECONDS
        ),
        Retention(name="notifications", days=days, forget=old_rows(_READ), every=_SWEEP_SECONDS),
        Retention(name="withheld_results", days=days, forget=old_rows(_WITHHELD, text=True)),
    )
