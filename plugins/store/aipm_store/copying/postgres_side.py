"""The PostgreSQL side of a copy: one transaction, whichever way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from graphlib import TopologicalSorter
from typing import Any

from aipm_core import CallError, Migration
from aipm_store.copies import not_found, refused
from aipm_store.copying.side import Rows, Tables
from aipm_store.postgres import schema
from aipm_store.postgres.connecting import Address, check_fitness

_ROWS_AT_ONCE = 500
_OWN = ("aipm_migrations", "aipm_turns")
_PATIENT = {
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "statement_timeout": "0",
}
_COLUMNS = """
    select table_name, column_name, data_type from information_schema.columns
    where table_schema = 'public' order by table_name, column_name
"""
_REFERENCES = """
    select distinct c.conrelid::regclass::text as table_name, c.confrelid::regclass::text as used
    from pg_constraint c where c.contype = 'f' and c.conrelid <> c.confrelid
"""
_COUNTING = """
    select table_name, column_name,
        pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
    from information_schema.columns where table_schema = 'public' and is_identity = 'YES'
"""
_OTHERS = """
    select count(*) from pg_stat_activity
    where datname = current_database() and application_name = 'aipm' and pid <> pg_backend_pid()
"""
_CASTS: Mapping[str, Callable[[Any], Any]] = {
    "bigint": int,
    "double precision": float,
    "text": lambda value: value if isinstance(value, str) else str(value),
}


class PostgresEngine:
    """A database on a server."""

    def __init__(self, url: str) -> None:
        self._address = Address(url)

    @asynccontextmanager
    async def source(self) -> AsyncGenerator[PostgresSide]:
        """Read everything as of one moment."""
        async with (
            self._connected() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            side = PostgresSide(connection)
            if not await side.tables():
                raise not_found(f"there is nothing to copy: {self._address} is empty")
            yield side

    @asynccontextmanager
    async def target(
        self, migrations: Mapping[str, Sequence[Migration]]
    ) -> AsyncGenerator[PostgresSide]:
        """Make tables and fill them in one transaction."""
        async with self._connected() as connection, connection.transaction():
            await check_fitness(connection, self._address)
            if await connection.fetchval("select to_regclass('aipm_migrations')"):
                raise refused(f"{self._address} holds data of aipm already; nothing was copied")
            await schema.update(connection, migrations)
            yield PostgresSide(connection)

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Any]:
        with self._address.explained("cannot be used"):
            connection = await self._address.connect(_PATIENT)
            try:
                if await connection.fetchval(_OTHERS):
                    raise CallError(
                        f"{self._address} is in use: stop every `aipm` that works on it first",
                        code="in_use",
                        status=409,
                    )
                yield connection
            finally:
                await connection.close(timeout=5)


class PostgresSide:
    """An open transaction."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401
        self._connection = connection
        self._types: dict[str, dict[str, str]] = {}

    async def tables(self) -> Tables:
        """Return the tables of plugins, with their columns."""
        self._types = {}
        for row in await self._connection.fetch(_COLUMNS):
            if row["table_name"] not in _OWN:
                self._types.setdefault(row["table_name"], {})[row["column_name"]] = row["data_type"]
        return {table: list(types) for table, types in self._types.items()}

    async def count(self, table: str) -> int:
        """Return how many rows a table has."""
        return int(await self._connection.fetchval(f'select count(*) from "{table}"'))

    async def rows(self, table: str, columns: Sequence[str]) -> Rows:
        """Return the rows of a table."""
        listed = ", ".join(f'"{column}"' for column in columns)
        query = f'select {listed} from "{table}"'
        async for row in self._connection.cursor(query, prefetch=_ROWS_AT_ONCE):
            yield tuple(row)

    async def counters(self) -> Mapping[str, int]:
        """Return the last number of every table that counts."""
        found: dict[str, int] = {}
        for row in await self._connection.fetch(_COUNTING):
            last = f"select last_value from {row['sequence']} where is_called"
            if number := await self._connection.fetchval(last):
                found[row["table_name"]] = number
        return found

    async def order(self, tables: Sequence[str]) -> list[str]:
        """Put what is referred to before what refers to it."""
        used: dict[str, set[str]] = {table: set() for table in tables}
        for row in await self._connection.fetch(_REFERENCES):
            if row["table_name"] in used and row["used"] in used:
                used[row["table_name"]].add(row["used"])
        return list(TopologicalSorter(used).static_order())

    async def fill(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        """Stream the rows in; numbers that PostgreSQL would hand out are taken as they are."""
        await self._connection.execute(f'delete from "{table}"')
        types = [self._types[table][column] for column in columns]
        await self._connection.copy_records_to_table(
            table, columns=list(columns), records=_fitting(rows, types)
        )

    async def go_on_counting(self, counters: Mapping[str, int]) -> None:
        """Set the sequences, which copied rows do not move."""
        for row in await self._connection.fetch(_COUNTING):
            if last := counters.get(row["table_name"]):
                await self._connection.execute("select setval($1, $2)", row["sequence"], last)


async def _fitting(rows: Rows, types: Sequence[str]) -> AsyncIterator[tuple[Any, ...]]:
    """Turn values into what the columns take; SQLite keeps whatever it was given."""
    casts = [_CASTS.get(kind) for kind in types]
    async for row in rows:
        yield tuple(
            cast(value) if cast and value is not None else value
            for cast, value in zip(casts, row, strict=True)
        )
