"""Which errors are the server's or the network's, and not a mistake in a statement."""

from __future__ import annotations

from asyncpg import (
    CharacterNotInRepertoireError,
    InterfaceError,
    InternalClientError,
    InvalidCachedStatementError,
    PostgresError,
)

from aipm_core import InvalidArguments, StoreUnavailable

# Connection, resources, operator, system; a lock not had in time, a read-only server, a rolled
# back transaction.
_PASSING = ("08", "53", "57", "58", "55P03", "25006", "25P02", "25P03", "40")
# The driver's own troubles are those of a connection that ended in the middle of something; a
# statement whose tables another server has just changed is prepared anew the next time.
_TROUBLES = (
    OSError,
    TimeoutError,
    InterfaceError,
    InternalClientError,
    InvalidCachedStatementError,
)


def told_apart(error: BaseException) -> BaseException:
    """Return ``StoreUnavailable`` for a trouble of the store, a mistake of a statement as it is."""
    if isinstance(error, CharacterNotInRepertoireError):  # the one character it cannot keep
        return InvalidArguments("a text holds the character U+0000, which cannot be stored")
    if not _passing(error):
        return error
    unavailable = StoreUnavailable(f"{error or type(error).__name__}")
    unavailable.__cause__ = error
    return unavailable


def _passing(error: BaseException) -> bool:
    if isinstance(error, _TROUBLES):
        return True
    return isinstance(error, PostgresError) and (error.sqlstate or "").startswith(_PASSING)
