"""What a write unit and a migration cannot do, on both engines."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from aipm_store import migration_check
from aipm_store.engines import make_store
from aipm_store.keeping import KeptEngine

from aipm_core.errors import PluginError, StoreUnavailable
from aipm_core.store import Migration, Store, Tx
from tests.postgres import database, server

THINGS = "create table things (id integer primary key, name text not null);"
Open = Callable[..., AbstractAsyncContextManager[KeptEngine]]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as running:
        yield running.address


@pytest.fixture(params=["sqlite", "postgresql"])
async def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    url = "sqlite"
    if request.param == "postgresql":
        url = await database(request.getfixturevalue("postgres"), tmp_path)

    @asynccontextmanager
    async def opened(**others: list[Migration]) -> AsyncGenerator[KeptEngine]:
        engine = make_store(url, tmp_path / "data")
        own = {"things": [Migration(name="0001", sql=THINGS)]}
        async with engine.opened({**own, **others}):
            yield engine

    return opened


async def add(tx: Tx, name: str) -> None:
    await tx.run("insert into things (name) values (?)", name)


async def names(store: Store) -> list[str]:
    return [row["name"] for row in await store.all("select name from things order by id")]


FORBIDDEN = [
    "commit",
    "Commit /* now */",
    "-- harmless\n rollback",
    "begin",
    "end",
    "savepoint mine",
    "release unit",
    "rollback to unit",
]
OF_SQLITE = [
    "attach database ':memory:' as other",
    "pragma foreign_keys = off",
    "pragma synchronous = off",
    "pragma query_only = 1",
    "select * from pragma_table_info('things')",
]
OF_POSTGRES = [
    "set synchronous_commit = off",
    "select set_config('synchronous_commit', 'off', false)",
    "delete from things; commit",
    "select pg_advisory_unlock_all()",
    "do $$ begin commit; end $$",
]


@pytest.mark.parametrize("how", ["one", "all", "run"])
async def test_a_unit_cannot_end_its_transaction_and_harms_no_other(
    opening: Open, how: str
) -> None:
    async with opening() as store:
        statements = FORBIDDEN + (OF_SQLITE if store.dialect == "sqlite" else OF_POSTGRES)

        async def hostile(tx: Tx, sql: str) -> None:
            await add(tx, "lost")
            await getattr(tx, how)(sql)

        async def refused(sql: str) -> None:
            with pytest.raises(RuntimeError, match="a write unit may not end its transaction"):
                await store.write(partial(hostile, sql=sql))

        async with anyio.create_task_group() as tasks:  # many share one commit
            for number, sql in enumerate(statements):
                tasks.start_soon(store.write, partial(add, name=str(number)))
                tasks.start_soon(refused, sql)
        assert sorted(map(int, await names(store))) == list(range(len(statements)))
        await store.write(partial(add, name="after"))


async def test_what_only_looks_forbidden_is_allowed(opening: Open) -> None:
    async def fine(tx: Tx) -> None:
        await tx.run("insert into things (name) values ('commit; rollback -- '';')")
        await tx.run("/* commit */ update things set name = name -- rollback\n")
        await tx.all("with begin_ as (select 1 as x) select * from begin_")
        await tx.run("delete from things where name = ?", "commit")

    async with opening() as store:
        await store.write(fine)
        assert await names(store) == ["commit; rollback -- ';"]


async def test_a_transaction_is_over_with_its_unit(opening: Open) -> None:
    kept: list[Tx] = []

    async def keep(tx: Tx) -> None:
        kept.append(tx)
        await add(tx, "in time")

    async def keep_and_fail(tx: Tx) -> None:
        kept.append(tx)
        raise ValueError("no")

    async with opening() as store:
        await store.write(keep)
        with pytest.raises(ValueError, match="no"):
            await store.write(keep_and_fail)
        for tx in kept:
            for use in (tx.run, tx.one, tx.all):
                with pytest.raises(RuntimeError, match="the transaction is over"):
                    await use("insert into things (name) values ('late')")
        assert await names(store) == ["in time"]


async def test_a_reader_cannot_become_a_writer(tmp_path: Path) -> None:
    engine = make_store("sqlite", tmp_path / "data")
    async with engine.opened({"things": [Migration(name="0001", sql=THINGS)]}):
        for sql in ("pragma query_only = 0", "begin", "attach ':memory:' as other"):
            with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
                await engine.all(sql)
        with pytest.raises(StoreUnavailable, match="readonly"):
            await engine.all("delete from things")


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("creat table x (y integer);", "migration 0001_bad failed: "),
        ("insert into mine (id) values (1);", "migration 0001_bad changes the table 'mine'"),
        ("drop table things;", "migration 0001_bad changes the table 'things', which is not its"),
    ],
)
async def test_a_migration_that_fails_names_plugin_and_step(
    opening: Open, sql: str, sentence: str
) -> None:
    async with opening() as store:
        await store.write(partial(add, name="kept"))
    bad = [Migration(name="0001_bad", sql=f"create table good (id integer primary key); {sql}")]
    with pytest.raises(PluginError) as refused:
        async with opening(hostile=bad):
            pass
    assert str(refused.value).startswith(f"plugin 'hostile': {sentence}")
    async with opening(hostile=[]) as store:
        assert await names(store) == ["kept"]
        with pytest.raises(Exception, match="good"):
            await store.all("select * from good")


FOREIGN = [
    "drop table if exists Tasks",
    'DROP  TABLE "tasks"',
    "drop/**/table tasks",
    "drop -- mine\n table main.tasks",
    "alter table tasks add column x text",
    "delete from tasks",
    "update tasks set title = 'x'",
    "update or ignore tasks set title = 'x'",
    "insert or replace into tasks (id) values (1)",
    "truncate table tasks",
    "alter table only public.tasks rename to mine",
    "drop view [tasks]",
]


@pytest.mark.parametrize("sql", FOREIGN)
def test_a_migration_touches_its_own_tables_only(sql: str) -> None:
    with pytest.raises(PluginError, match="changes the table 'tasks', which is not its own"):
        migration_check.check("x", [Migration(name="1", sql=sql)], "sqlite")


def test_a_migration_may_rebuild_its_own_tables() -> None:
    steps = [
        Migration(
            name="1", sql="create table mine (a text); create virtual table find using fts5(a);"
        ),
        Migration(
            name="2", sql="create table new_mine (a text, b text default 'drop table tasks');"
        ),
        Migration(
            name="3",
            sql="insert into new_mine (a) select a from mine; drop table mine; "
            "alter table new_mine rename to mine; update mine set a = 'x'; delete from find; "
            "create trigger t after update on mine begin insert into find (a) values (new.a); end;",
        ),
    ]
    migration_check.check("x", steps, "sqlite")


async def test_units_of_others_go_on_while_one_waits_for_something_else(opening: Open) -> None:
    async def waiting(tx: Tx) -> None:
        await add(tx, "lost")
        await asyncio.sleep(0)

    async with opening() as store:
        with pytest.raises(RuntimeError, match="nothing else"):
            await store.write(waiting)
        await store.write(partial(add, name="a"))
        assert await names(store) == ["a"]
