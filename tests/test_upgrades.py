"""A database of any earlier schema opens with this program, and its rows are all there."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from aipm_cli.program import migrations_of
from aipm_cli.settings import Settings
from aipm_devkit.program import Install
from aipm_store.engines import make_store
from aipm_store.schema import update

from aipm_core.store import Migration

SETS = migrations_of(Settings(file=Path("aipm.toml")))
PREFIXES = [(owner, count) for owner, steps in SETS.items() for count in range(len(steps))]
_CHOICE = re.compile(r"(\w+) in\s*\(\s*('[^']*'|[\d.]+)")
_COUNT = 3


def tables(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the plain tables with their statements; not those of a search index."""
    found = dict(connection.execute("select name, sql from sqlite_master where type = 'table'"))
    virtual = [name for name, sql in found.items() if "virtual table" in sql.lower()]
    return {
        name: sql
        for name, sql in found.items()
        if not name.startswith(("sqlite_", "_sqlite", *virtual))
    }


def fill(connection: sqlite3.Connection) -> None:
    """Put rows into every table. Number n stands in every column of row n, so references hold."""
    for table, sql in tables(connection).items():
        allowed = dict(_CHOICE.findall(sql))
        columns = [row[1:3] for row in connection.execute(f"pragma table_info({table})")]
        for number in range(1, _COUNT + 1):
            values = [_value(name, kind, number, allowed) for name, kind in columns]
            places = ", ".join("?" * len(values))
            connection.execute(f"insert or ignore into {table} values ({places})", values)


def _value(name: str, kind: str, number: int, allowed: dict[str, str]) -> object:
    if name in allowed:
        return allowed[name].strip("'")
    return str(number) if kind.lower() in {"text", ""} else number


def content(connection: sqlite3.Connection, shape: dict[str, list[str]]) -> dict[str, set[object]]:
    return {
        table: set(connection.execute(f"select {', '.join(columns)} from {table}"))
        for table, columns in shape.items()
    }


def old_database(database: Path, sets: dict[str, Sequence[Migration]]) -> dict[str, list[str]]:
    """Make a database with these steps only, and rows; return its tables and columns."""
    database.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        update(connection, sets)
        fill(connection)
        return {
            table: [row[1] for row in connection.execute(f"pragma table_info({table})")]
            for table in tables(connection)
        }


@pytest.mark.parametrize(("owner", "count"), PREFIXES)
async def test_every_earlier_schema_is_brought_up_to_date(
    tmp_path: Path, owner: str, count: int
) -> None:
    database = tmp_path / "data" / "aipm.db"
    shape = old_database(database, {**SETS, owner: SETS[owner][:count]})
    with closing(sqlite3.connect(database)) as connection:
        before = content(connection, shape)
        orphans = set(connection.execute("pragma foreign_key_check"))
    # A plugin whose tables were all missing has nothing to lose; the others have rows.
    assert any(len(rows) >= 1 for rows in before.values())
    engine = make_store("sqlite", tmp_path / "data")
    async with engine.opened(SETS):
        pass
    with closing(sqlite3.connect(database)) as connection:
        assert content(connection, shape) == before
        applied = dict.fromkeys(SETS, 0)
        for (name,) in connection.execute("select migration_set from _sqlite_migrations"):
            applied[name] += 1
        assert applied == {name: len(steps) for name, steps in SETS.items()}
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        assert set(connection.execute("pragma foreign_key_check")) <= orphans


def test_the_filled_tables_are_really_filled(tmp_path: Path) -> None:
    database = tmp_path / "data" / "aipm.db"
    shape = old_database(database, dict(SETS))
    with closing(sqlite3.connect(database)) as connection:
        rows = content(connection, shape)
    assert len(rows) >= 20
    assert [table for table, found in rows.items() if not found] == []


def test_the_program_starts_on_the_first_schema_of_everything(tmp_path: Path) -> None:
    """Only the first step of every plugin, as an early version would have left it."""
    install = Install.make(tmp_path)
    database = tmp_path / ".aipm-data" / "aipm.db"
    first = {owner: steps[:1] for owner, steps in SETS.items()}
    old_database(database, dict(first))
    projects = install.json("project", "list")
    assert {project["id"] for project in projects} == {"1", "2", "3"}
    with install.up() as server:
        assert server.url
    assert server.process.returncode == 0
