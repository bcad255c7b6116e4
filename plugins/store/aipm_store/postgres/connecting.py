"""How a server connects: what every connection is told, and what a failed one is called."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import asyncpg

from aipm_core import StoreError
from aipm_store.postgres.error_kinds import told_apart

CONNECT_SECONDS = 5.0
_TRIES, _PAUSE = 8, 0.5  # seconds between tries, while the server has no connection left
_OLDEST = 140_000  # idle sessions can be ended from this version on
_SETTINGS = {
    "application_name": "aipm",
    "synchronous_commit": "on",  # an acknowledged write survives the loss of power
    # A plan made without the values takes a table scan for cheap where a `limit` is given.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",  # every statement is short
    "lock_timeout": "10s",
    # A server that is stopped in the middle of a write must not hold up the others.
    "idle_in_transaction_session_timeout": "5s",
    # One that has vanished is noticed in seconds, not when the kernel gives up after two hours.
    "tcp_keepalives_idle": "3",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "9s",
    "client_connection_check_interval": "5s",
}
_LIBPQ_ONLY = {"connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval"}


class Address:
    """A database that can be connected to."""

    def __init__(self, url: str) -> None:
        self._url = _without_libpq_only(url)

    def __str__(self) -> str:
        """Name the database, never its password."""
        try:
            parts = urlsplit(self._url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return "the database"
        if not parts.netloc or "#" in self._url or ":" in parts.path or "@" in parts.path:
            return "the database"  # not well formed: what looks like a host may be a password
        return f"the database {parts.hostname or 'localhost'}{port}{parts.path}"

    async def connect(self, settings: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        """Open one connection.

        Settings are set by statements: a pooler in between refuses them as start parameters.
        """
        connection = await asyncpg.connect(
            self._url, timeout=CONNECT_SECONDS, statement_cache_size=1024
        )
        try:
            wanted = {**_SETTINGS, **(settings or {})}
            told = "; ".join(f"set {name} = '{value}'" for name, value in wanted.items())
            async with asyncio.timeout(CONNECT_SECONDS):
                await connection.execute(told)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def connect_patiently(self, settings: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        """Open a connection that a server cannot do without; wait while there is none left."""
        for _ in range(_TRIES):
            try:
                return await self.connect(settings)
            except asyncpg.TooManyConnectionsError:
                await asyncio.sleep(_PAUSE)
        return await self.connect(settings)

    async def connect_for_reading(self) -> Any:  # noqa: ANN401
        """Open a connection that cannot write."""
        return await self.connect(
            {"default_transaction_read_only": "on", "statement_timeout": "60s"}
        )

    @contextmanager
    def explained(self, problem: str) -> Iterator[None]:
        """Turn what goes wrong at the start into one sentence that says what to do."""
        try:
            yield
        except _AT_THE_START as error:
            what = str(error).strip() or type(error).__name__
            raise StoreError(f"{self} {problem}: {what}{_remedy(error)}") from error


_AT_THE_START = (
    OSError,
    TimeoutError,
    ValueError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


async def check_fitness(connection: Any, address: Address) -> None:  # noqa: ANN401
    """Refuse a database that cannot keep what it is given."""
    encoding = await connection.fetchval("select current_setting('server_encoding')")
    if encoding != "UTF8":
        raise StoreError(
            f"{address} keeps text as {encoding}, which has no place for most languages: "
            "make another one with `createdb --encoding UTF8 --template template0 NAME`"
        )
    version = int(await connection.fetchval("select current_setting('server_version_num')"))
    if version < _OLDEST:
        raise StoreError(f"{address} is PostgreSQL {version // 10_000}; 14 or newer is needed")


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


def literal(text: str) -> str:
    """Return an expression for a text, for statements that travel together and take no parameters.

    It is made of hexadecimal digits: no text whatever can end it.
    """
    return f"convert_from(decode('{text.encode().hex()}', 'hex'), 'UTF8')"


def _without_libpq_only(url: str) -> str:
    """Leave out what other programs understand in an address and the driver takes for a setting."""
    address, mark, query = url.partition("?")
    if not mark:
        return url
    kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True)]
    kept = [(name, value) for name, value in kept if name not in _LIBPQ_ONLY]
    return f"{address}?{urlencode(kept)}" if kept else address


def _remedy(error: BaseException) -> str:
    """Say what to do about the troubles of a first start."""
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return " (make it: createdb --owner USER NAME)"
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        return " (make the role: createuser --pwprompt USER; or mend the password in the address)"
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return " (the role must own the database: alter database NAME owner to USER)"
    if isinstance(error, asyncpg.TooManyConnectionsError):
        return " (raise max_connections, or lower [store] connections)"
    return ""
