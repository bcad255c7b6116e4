"""Which errors are the server's or the network's, and not a mistake in a statement."""

from __future__ import annotations

from asyncpg import InterfaceError, PostgresError

from aipm_core.errors import StoreUnavailable

# Connection, resources, operator, system; a lock not had in time, a read-only server, a rolled
# back transaction.
_PASSING = ("08", "53", "57", "58", "55P03", "25006", "25P03", "40")


def told_apart(error: BaseException) -> BaseException:
    """Return ``StoreUnavailable`` for a trouble of the store, everything else as it is."""
    if not _passing(error):
        return error
    unavailable = StoreUnavailable(f"{error or type(error).__name__}")
    unavailable.__cause__ = error
    return unavailable


def _passing(error: BaseException) -> bool:
    if isinstance(error, PostgresError):
        return (error.sqlstate or "").startswith(_PASSING)
    return isinstance(error, OSError | TimeoutError | InterfaceError)
