"""How a server connects: what every connection is told, and what a failed one is called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from aipm_core.errors import StoreError
from aipm_core.store.postgres.troubles import told_apart

PATIENCE = 20.0  # seconds for a statement
_READERS, _HOLDERS = 8, 4
_OPTIONS = {
    "command_timeout": PATIENCE,
    "timeout": PATIENCE,
    "statement_cache_size": 1024,
}
_SETTINGS = {
    "application_name": "aipm",
    "synchronous_commit": "on",  # an acknowledged write survives the loss of power
    "lock_timeout": "15s",
    # A server that is stopped in the middle of a write must not hold up the others.
    "idle_in_transaction_session_timeout": "15s",
}


class Address:
    """A database that can be connected to."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __str__(self) -> str:
        """Name the database, never its password."""
        parts = urlsplit(self._url)
        return f"the database {parts.hostname or 'localhost'}{parts.path}"

    async def connect(self) -> Any:  # noqa: ANN401
        """Open one connection."""
        return await asyncpg.connect(self._url, server_settings=_SETTINGS, **_OPTIONS)

    def readers(self) -> Any:  # noqa: ANN401
        """Make the connections for reading, which cannot write."""
        return self._pool(_READERS, {**_SETTINGS, "default_transaction_read_only": "on"})

    def holders(self) -> Any:  # noqa: ANN401
        """Make the connections that hold turns."""
        return self._pool(_HOLDERS, _SETTINGS)

    def _pool(self, most: int, settings: dict[str, str]) -> Any:  # noqa: ANN401
        # Each is opened when it is needed: a pool that keeps some open complains of every try.
        return asyncpg.create_pool(
            self._url, min_size=0, max_size=most, server_settings=settings, **_OPTIONS
        )

    @contextmanager
    def explained(self, problem: str) -> Iterator[None]:
        """Turn what goes wrong at the start into one sentence."""
        try:
            yield
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise StoreError(f"{self} {problem}: {error or type(error).__name__}") from error


@contextmanager
def told() -> Iterator[None]:
    """Raise troubles of the store as such."""
    try:
        yield
    except Exception as error:
        apart = told_apart(error)
        if apart is error:
            raise
        raise apart from error
