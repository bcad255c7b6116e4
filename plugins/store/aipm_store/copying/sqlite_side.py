"""The SQLite side of a copy: one file, drafted beside its name when it is the target."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

from aipm_core import Migration, StoreError
from aipm_store import data_directory, directory_lock, schema
from aipm_store.copies import damage, draft_of, explained, flush, not_found, read_only, refused
from aipm_store.copying.side import Rows, Tables

_ROWS_AT_ONCE = 500
_OWN = "_sqlite_migrations"
# Shadow tables belong to an index of words, and sqlite_sequence to the engine.
_TABLES = "select name from pragma_table_list where schema = 'main' and type = 'table'"
_COUNTERS = "select name, seq from sqlite_sequence"


class SqliteEngine:
    """The database of a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._database = data_dir / data_directory.DATABASE

    @asynccontextmanager
    async def source(self) -> AsyncGenerator[SqliteSide]:
        """Read the database while nobody else uses it."""
        if not self._database.is_file():
            raise not_found(f"there is nothing to copy: {self._database} does not exist")
        with (
            explained(f"{self._database} cannot be read"),
            directory_lock.alone(self._data_dir),
            closing(read_only(self._database)) as connection,
        ):
            yield SqliteSide(connection)

    @asynccontextmanager
    async def target(
        self, migrations: Mapping[str, Sequence[Migration]]
    ) -> AsyncGenerator[SqliteSide]:
        """Write a new database beside its name; it gets the name when it is whole."""
        data_directory.prepare(self._data_dir)
        with directory_lock.alone(self._data_dir):
            if self._database.exists() and self._database.stat().st_size:
                raise refused(f"{self._database} exists already; nothing was copied")
            with (
                explained(f"{self._database} cannot be written"),
                draft_of(self._database) as draft,
            ):
                with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                    schema.update(connection, migrations)
                    connection.execute("begin")
                    yield SqliteSide(connection)
                    connection.execute("commit")
                    if problem := damage(connection):
                        raise StoreError(f"the copy is not whole: {problem}; nothing was kept")
                flush(draft)
                draft.replace(self._database)
                flush(self._database.parent)


class SqliteSide:
    """An open connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def tables(self) -> Tables:
        """Return the tables of plugins, with their columns."""
        names = sorted(
            name
            for (name,) in self._connection.execute(_TABLES)
            if name != _OWN and not name.startswith("sqlite_")
        )
        columns = "select name from pragma_table_info(?) order by name"
        return {name: [c for (c,) in self._connection.execute(columns, (name,))] for name in names}

    async def count(self, table: str) -> int:
        """Return how many rows a table has."""
        return int(self._connection.execute(f'select count(*) from "{table}"').fetchone()[0])

    async def rows(self, table: str, columns: Sequence[str]) -> Rows:
        """Return the rows of a table."""
        cursor = self._connection.execute(f'select {_listed(columns)} from "{table}"')
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for row in rows:
                yield row

    async def counters(self) -> Mapping[str, int]:
        """Return the last number of every table that counts."""
        return dict(self._connection.execute(_COUNTERS).fetchall())

    async def order(self, tables: Sequence[str]) -> list[str]:
        """Leave the order: references are looked at when all is there."""
        return list(tables)

    async def fill(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        """Put the rows in, one after the other."""
        places = ", ".join("?" for _ in columns)
        insert = f'insert into "{table}" ({_listed(columns)}) values ({places})'
        self._connection.execute(f'delete from "{table}"')
        async for row in rows:
            self._connection.execute(insert, row)

    async def go_on_counting(self, counters: Mapping[str, int]) -> None:
        """Set the numbers that SQLite has counted from the rows."""
        known = await self.counters()
        for table, last in counters.items():
            if table in known:
                self._connection.execute(
                    "update sqlite_sequence set seq = max(seq, ?) where name = ?", (last, table)
                )
            else:
                self._connection.execute("insert into sqlite_sequence values (?, ?)", (table, last))


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)
