"""The conformance suite of the store port. Every engine must pass it."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from aipm_store.engines import make_store
from aipm_store.keeping import KeptEngine

from aipm_core.errors import PluginError, StoreUnavailable
from aipm_core.store import Migration, Store, Tx
from tests.postgres import database, server

MIGRATIONS = [
    Migration(name="0001", sql="create table things (id integer primary key, name text not null);")
]
Open = Callable[[], AbstractAsyncContextManager[KeptEngine]]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with server() as running:
        yield running.address


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return "sqlite"
    return await database(request.getfixturevalue("postgres"), tmp_path)


@pytest.fixture
def opening(url: str, tmp_path: Path) -> Open:
    """Give a function that opens one more store on the same data, as another process would."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[KeptEngine]:
        engine = make_store(url, tmp_path / "data")
        async with engine.opened({"test": MIGRATIONS}):
            yield engine

    return opened


async def add(tx: Tx, name: str) -> int:
    await tx.run("insert into things (name) values (?)", name)
    tx.wake("things")
    row = await tx.one("select count(*) as n from things")
    return int(row["n"]) if row else 0


async def names(store: Store) -> list[str]:
    return [row["name"] for row in await store.all("select name from things order by id")]


async def test_a_unit_returns_its_result_after_its_commit(opening: Open) -> None:
    async with opening() as store:
        assert await store.write(lambda tx: add(tx, "a")) == 1
        assert await names(store) == ["a"]
        assert await store.one("select 1 from things where name = ?", "b") is None


async def test_a_failing_unit_takes_back_its_own_changes_only(opening: Open) -> None:
    async def failing(tx: Tx) -> None:
        await add(tx, "lost")
        raise ValueError("no")

    async def fail(store: Store) -> None:
        with pytest.raises(ValueError, match="no"):
            await store.write(failing)

    async with opening() as store, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(store.write, partial(add, name=str(number)))
            tasks.start_soon(fail, store)
    async with opening() as store:
        assert sorted(await names(store), key=int) == [str(n) for n in range(20)]


async def test_a_failing_unit_wakes_nobody(opening: Open) -> None:
    async def failing(tx: Tx) -> None:
        tx.wake("things")
        raise ValueError("no")

    looks = 0

    async def look() -> None:
        nonlocal looks
        looks += 1

    async with opening() as store:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.wait_until, ("things",), look, 0.2)
            with pytest.raises(ValueError, match="no"):
                await store.write(failing)
        assert looks == 1


async def test_readers_cannot_write(opening: Open) -> None:
    async with opening() as store:
        with pytest.raises(Exception, match=r"readonly|read-only"):
            await store.all("insert into things (name) values ('x') returning id")
        assert await names(store) == []


async def test_a_unit_may_await_its_transaction_only(opening: Open) -> None:
    async def waiting(tx: Tx) -> None:
        await add(tx, "x")
        await asyncio.sleep(0)

    async with opening() as store:
        with pytest.raises(RuntimeError, match="nothing else"):
            await store.write(waiting)
        assert await names(store) == []


async def test_long_reads_run_beside_the_loop(opening: Open) -> None:
    async with opening() as store:
        await store.write(lambda tx: add(tx, "a"))
        assert [row["name"] for row in await store.scan("select * from things")] == ["a"]


async def test_a_waiter_is_woken_by_a_write_in_this_process(opening: Open) -> None:
    async with opening() as store:
        await is_woken_by(store, store)


async def test_a_waiter_is_woken_by_a_write_of_another(opening: Open) -> None:
    async with opening() as waiting, opening() as writing:
        await is_woken_by(waiting, writing)


async def is_woken_by(waiting: Store, writing: Store) -> None:
    looked = anyio.Event()
    found: list[str] | None = None

    async def look() -> list[str] | None:
        looked.set()
        return await names(waiting) or None

    async def wait() -> None:
        nonlocal found
        # Longer than the safety look: only a real wake-up ends this in time.
        found = await waiting.wait_until(("other", "things"), look, 30)

    with anyio.fail_after(1.5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await looked.wait()
            await writing.write(lambda tx: add(tx, "news"))
    assert found == ["news"]


async def test_what_is_there_already_is_found_without_waiting(opening: Open) -> None:
    async def look() -> str:
        return "here"

    async with opening() as store:
        assert await store.wait_until(("things",), look, 0) == "here"


async def never() -> str | None:
    return None


async def test_a_wait_ends_empty_handed_after_its_time(opening: Open) -> None:
    async with opening() as store:
        assert await store.wait_until(("things",), never, 0.01) is None


async def test_a_stop_ends_every_wait(opening: Open) -> None:
    async with opening() as store:
        with anyio.fail_after(2):
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(store.wait_until, ("things",), never, 60)
                await anyio.lowlevel.checkpoint()
                store.end_waits()
                assert await store.wait_until(("things",), never, 60) is None


async def test_two_stores_on_one_place_see_and_keep_each_others_writes(opening: Open) -> None:
    async def fill(store: Store, mark: str) -> None:
        for number in range(50):
            await store.write(partial(add, name=f"{mark}{number}"))

    async with opening() as one, opening() as other:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fill, one, "a")
            tasks.start_soon(fill, other, "b")
        wanted = sorted([f"a{n}" for n in range(50)] + [f"b{n}" for n in range(50)])
        assert sorted(await names(one)) == sorted(await names(other)) == wanted


async def test_a_step_is_applied_once_and_new_ones_are_added(url: str, tmp_path: Path) -> None:
    more = [*MIGRATIONS, Migration(name="0002", sql="alter table things add column size integer;")]
    for steps in (MIGRATIONS, MIGRATIONS, more, more):
        engine = make_store(url, tmp_path)
        async with engine.opened({"test": steps}):
            await engine.write(lambda tx: add(tx, "a"))
    assert engine is not None
    async with engine.opened({"test": more}):
        assert await engine.one("select size from things") is not None


async def test_a_failing_step_leaves_nothing_behind(url: str, tmp_path: Path) -> None:
    bad = [
        Migration(name="0001", sql="create table half (id integer); insert into none values (1);")
    ]
    engine = make_store(url, tmp_path)
    with pytest.raises(Exception, match="none"):
        async with engine.opened({"test": bad}):
            pass
    good = [Migration(name="0001", sql="create table half (id integer);")]
    async with engine.opened({"test": good}):
        assert await engine.all("select * from half") == []


async def test_text_with_semicolons_is_one_statement_and_half_a_statement_none(
    tmp_path: Path,
) -> None:
    whole = "create table notes (text text); insert into notes values ('a; b;');"
    engine = make_store("sqlite", tmp_path / "whole")
    async with engine.opened({"test": [Migration(name="0001", sql=whole)]}):
        assert [row["text"] for row in await engine.all("select * from notes")] == ["a; b;"]
    engine = make_store("sqlite", tmp_path / "half")
    with pytest.raises(PluginError, match="0001 failed: incomplete SQL: insert into notes values"):
        async with engine.opened({"test": [Migration(name="0001", sql=whole.removesuffix("');"))]}):
            pass


async def test_a_closed_store_takes_no_writes(opening: Open) -> None:
    async with opening() as store:
        await store.write(partial(add, name="in time"))
    with pytest.raises(RuntimeError, match="the store is closed"):
        await store.write(partial(add, name="too late"))
    async with opening() as store:
        assert await names(store) == ["in time"]


async def test_a_commit_that_fails_is_taken_back_and_told(tmp_path: Path) -> None:
    tables = (
        "create table parents (id integer primary key); create table children (parent integer "
        "references parents (id) deferrable initially deferred);"
    )
    engine = make_store("sqlite", tmp_path)

    async def orphan(tx: Tx) -> None:
        await tx.run("insert into children values (7)")

    async def parent(tx: Tx) -> None:
        await tx.run("insert into parents values (1)")

    async with engine.opened({"test": [Migration(name="0001", sql=tables)]}):
        with pytest.raises(Exception, match="FOREIGN KEY constraint failed"):
            await engine.write(orphan)
        await engine.write(parent)
        assert await engine.all("select * from children") == []
        assert len(await engine.all("select * from parents")) == 1


async def test_a_unit_that_ends_the_transaction_of_all_is_an_error_for_all(tmp_path: Path) -> None:
    async def rolls_back(tx: Tx) -> None:
        await tx.run("insert or rollback into things (id, name) values (1, 'again')")

    store = make_store("sqlite", tmp_path)
    async with store.opened({"test": MIGRATIONS}):
        await store.write(partial(add, name="kept"))
        done = await asyncio.gather(
            store.write(partial(add, name="beside")),
            store.write(rolls_back),
            return_exceptions=True,
        )
        assert "UNIQUE constraint failed" in str(done[1])
        await store.write(partial(add, name="after"))
        # Nobody was told of a write that is gone: either both failed, or the first stood alone.
        acknowledged = [] if isinstance(done[0], BaseException) else ["beside"]
        assert await names(store) == ["kept", *acknowledged, "after"]


@pytest.mark.parametrize("read", ["one", "all", "scan"])
async def test_a_read_tells_the_stores_trouble_from_a_mistake(tmp_path: Path, read: str) -> None:
    engine = make_store("sqlite", tmp_path)
    async with engine.opened({"test": MIGRATIONS}):
        await engine.write(partial(add, name="a"))
        ask = getattr(engine, read)
        with pytest.raises(sqlite3.OperationalError, match="no such table: absent"):
            await ask("select * from absent")
        await engine.scan("pragma wal_checkpoint(truncate)")
        pages = (tmp_path / "aipm.db").read_bytes()
        (tmp_path / "aipm.db").write_bytes(pages[:4096] + b"x" * (len(pages) - 4096))
        with pytest.raises(StoreUnavailable, match="SQLITE_CORRUPT"):
            await ask("select name from things order by name")


async def test_a_note_is_committed_with_what_it_tells_of(url: str, tmp_path: Path) -> None:
    async def note(tx: Tx, topics: AbstractSet[str]) -> None:
        for topic in sorted(topics):
            await tx.run("insert into things (name) values (?)", f"woke {topic}")
        tx.wake("noted")

    async def fails(tx: Tx) -> None:
        await add(tx, "lost")
        raise ValueError("on purpose")

    async def silent(tx: Tx) -> None:
        await tx.run("insert into things (name) values ('silent')")

    engine = make_store(url, tmp_path / "data")
    engine.note_wakes(note)
    async with engine.opened({"test": MIGRATIONS}):
        await engine.write(partial(add, name="one"))
        with pytest.raises(ValueError, match="on purpose"):
            await engine.write(fails)
        await engine.write(silent)
        assert await names(engine) == ["one", "woke things", "silent"]


async def test_a_note_that_fails_takes_back_its_unit(url: str, tmp_path: Path) -> None:
    async def note(tx: Tx, topics: AbstractSet[str]) -> None:
        raise ValueError("no paper left")

    engine = make_store(url, tmp_path / "data")
    engine.note_wakes(note)
    async with engine.opened({"test": MIGRATIONS}):
        with pytest.raises(ValueError, match="no paper left"):
            await engine.write(partial(add, name="one"))
        assert await names(engine) == []
