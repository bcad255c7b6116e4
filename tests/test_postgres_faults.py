"""What a database and its network do to several servers: stop, vanish, run full, answer late."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import asyncpg
import pytest
from aipm_store.postgres.engine import PostgresStore
from aipm_store.postgres.writer import payloads

from aipm_core import InvalidArguments, Migration, PluginError, StoreError, StoreUnavailable, Tx
from tests.network import Network
from tests.postgres import database, server

TABLES = [
    Migration(
        name="0001",
        sql="create table things (id integer primary key autoincrement, name text not null, "
        "done text); create index things_open on things (name, id) where done is null;",
    )
]
Open = Callable[[str], AbstractAsyncContextManager[PostgresStore]]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as running:
        yield running.address


@pytest.fixture
async def address(postgres: str, tmp_path: Path) -> str:
    return await database(postgres, tmp_path)


@pytest.fixture
def opening(tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(url: str, connections: int = 12) -> AsyncGenerator[PostgresStore]:
        engine = PostgresStore(url, tmp_path / "data", connections)
        async with engine.opened({"test": TABLES}):
            yield engine

    return opened


async def add(tx: Tx, name: str) -> None:
    await tx.run("insert into things (name) values (?)", name)
    tx.wake("things")


async def names(store: PostgresStore) -> list[str]:
    return [row["name"] for row in await store.all("select name from things order by id")]


@pytest.fixture
def brief_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PostgreSQL lose its patience with a silent holder after a second."""
    for name, value in {"_SILENCE": "1s", "_SIGN_SECONDS": 0.2, "_OURS_SECONDS": 0.7}.items():
        monkeypatch.setattr(f"aipm_store.postgres.named_locks.{name}", value)


@pytest.mark.usefixtures("brief_turns")
async def test_a_server_that_vanishes_in_its_turn_holds_up_nobody(
    address: str, opening: Open
) -> None:
    network = Network(address)
    held, lasts = asyncio.Event(), list[Callable[[], bool]]()

    async def vanish(store: PostgresStore) -> None:
        async with store.turn("chat") as turn:
            lasts.append(turn.lasts)
            held.set()
            await asyncio.Event().wait()

    async with network.up() as url, opening(address) as here, opening(url) as there:
        vanishing = asyncio.create_task(vanish(there))
        await held.wait()
        assert lasts[0]()
        network.silence()
        async with here.turn("chat") as turn:  # within the time-out of a lock
            assert not turn.ours
            assert not lasts[0]()  # known without asking: nobody would answer
        with pytest.raises(StoreUnavailable, match="turn was lost"):
            await vanishing
        network.cut()
        network.speak()
        async with there.turn("chat") as again:
            assert not again.ours


@pytest.mark.usefixtures("brief_turns")
async def test_a_turn_may_last_longer_than_a_silence(address: str, opening: Open) -> None:
    async def take(store: PostgresStore) -> bool:
        async with store.turn("chat") as turn:
            return turn.ours

    async with opening(address) as here, opening(address) as there:
        async with here.turn("chat") as turn:
            waiting = asyncio.create_task(take(there))
            done, _ = await asyncio.wait([waiting], timeout=2.5)
            assert not done
            assert turn.lasts()
        assert not await waiting
        assert not await take(here)
        assert await take(here)


async def test_a_server_that_vanishes_in_a_write_holds_up_nobody(
    address: str, opening: Open
) -> None:
    network = Network(address)

    async def vanishing(tx: Tx) -> None:
        await add(tx, "lost")
        network.silence()
        await add(tx, "lost too")

    async with network.up() as url, opening(address) as here, opening(url) as there:
        writing = asyncio.create_task(there.write(vanishing))
        while network.speaks:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        await here.write(partial(add, name="kept"))
        assert await names(here) == ["kept"]
        network.cut()
        network.speak()
        with pytest.raises(StoreUnavailable):
            await writing
        await there.write(partial(add, name="after"))
        assert await names(here) == ["kept", "after"]


async def test_an_ear_that_hears_nothing_any_more_is_noticed(address: str, opening: Open) -> None:
    network = Network(address)
    async with network.up() as url, opening(address) as here, opening(url) as there:
        looks = asyncio.Semaphore(0)

        async def look() -> list[str] | None:
            looks.release()
            with_names = [] if not network.speaks else await names(there)
            return with_names or None

        waiting = asyncio.create_task(there.wait_until(("things",), look, 60))
        await looks.acquire()
        network.silence()
        await here.write(partial(add, name="news"))
        await asyncio.sleep(6)  # a sign of life and the patience for its answer
        network.cut()  # connections made from now on work again
        network.speak()
        with anyio.fail_after(10):
            assert await waiting == ["news"]


async def test_reads_go_on_when_their_connections_break(address: str, opening: Open) -> None:
    network = Network(address)
    async with network.up() as url, opening(url) as store:
        await store.write(partial(add, name="one"))
        for _ in range(5):
            reads = [asyncio.create_task(names(store)) for _ in range(20)]
            network.cut()
            assert await asyncio.gather(*reads) == [["one"]] * 20
        await asyncio.gather(*[names(store) for _ in range(20)])  # several idle connections
        network.tell_late()  # so that each is found broken only when it is used
        killer = await asyncpg.connect(address)
        await killer.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'aipm'"
        )
        await killer.close()
        assert await names(store) == ["one"]


async def test_a_read_that_is_not_answered_is_the_stores_trouble(
    address: str, opening: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aipm_store.postgres.engine._READ_SECONDS", 0.3)
    network = Network(address)
    async with network.up() as url, opening(url) as store:
        network.silence()
        with pytest.raises(StoreUnavailable):
            await names(store)
        network.speak()
        assert await names(store) == []


async def test_readers_leave_the_writer_its_connection(address: str, opening: Open) -> None:
    admin = await asyncpg.connect(address)
    taken: list[asyncpg.Connection] = []
    async with opening(address) as one, opening(address) as other:
        try:
            while True:  # as another program does that wants more than there is
                taken.append(await asyncpg.connect(address))
        except asyncpg.TooManyConnectionsError:
            pass
        done = await asyncio.gather(
            *(store.write(partial(add, name=f"{n}")) for n in range(8) for store in (one, other)),
            *(names(store) for _ in range(40) for store in (one, other)),
            return_exceptions=True,
        )
        assert [one for one in done if isinstance(one, BaseException)] == []
        for connection in (*taken, admin):
            await connection.close()
        assert len(await names(one)) == 16


async def test_a_hot_check_uses_its_index_however_often_it_ran(address: str, opening: Open) -> None:
    async def fill(tx: Tx) -> None:
        await tx.run(
            "insert into things (name) select 'a' || n % 50 from generate_series(1, 20000) as g(n)"
        )

    check = "select 1 from things where done is null and name = ? limit 1"
    async with opening(address) as store:
        await store.write(fill)
        await store.scan("select 1")
        for _ in range(12):  # after five a plan without the values may be taken
            await store.one(check, "nobody")
        before = await scans(store)
        for _ in range(12):
            await store.one(check, "nobody")
        assert await scans(store) == before


async def scans(store: PostgresStore) -> int:
    """Count how often the table was read from its beginning, by every connection so far."""

    async def count(tx: Tx) -> int:
        row = await tx.one("select seq_scan as n from pg_stat_user_tables where relname = 'things'")
        return int(row["n"]) if row else 0

    await anyio.sleep(1.2)  # PostgreSQL tells its counts once a second
    await store.all("select 1")
    return await store.write(count)


async def test_servers_agree_on_the_time(address: str, tmp_path: Path) -> None:
    clocks = []
    for ahead in (0.0, 30.0, -3600.0):
        wall = lambda ahead=ahead: time.time() + ahead  # noqa: E731
        store = PostgresStore(address, tmp_path / "data", 12)
        store._clock._wall = wall
        async with store.opened({"test": TABLES}):
            clocks.append(store.shared_clock(wall))
            condition = await store.condition()
            assert ("the clock of this machine is" in condition.message) == bool(ahead)
    told = [clock() for clock in clocks]
    assert max(told) - min(told) < 1


async def test_a_database_without_room_for_every_language_is_refused(
    postgres: str, address: str, tmp_path: Path
) -> None:
    admin = await asyncpg.connect(postgres)
    await admin.execute("drop database if exists latin")
    await admin.execute("create database latin encoding 'LATIN1' locale 'C' template template0")
    await admin.close()
    store = PostgresStore(postgres.replace("/postgres?", "/latin?"), tmp_path, 12)
    with pytest.raises(StoreError, match=r"LATIN1.*createdb --encoding UTF8"):
        async with store.opened({}):
            pass


@pytest.mark.parametrize("more", ["target_session_attrs=read-write", "connect_timeout=5"])
async def test_addresses_of_other_programs_are_understood(
    address: str, opening: Open, more: str
) -> None:
    async with opening(f"{address}&{more}") as store:
        await store.write(partial(add, name="kept"))
        assert await names(store) == ["kept"]


async def test_a_writer_leaves_a_database_that_has_become_read_only(
    address: str, opening: Open
) -> None:
    async with opening(address) as store:
        first = store._writer.pid
        await store._writer._connection.execute("set default_transaction_read_only = on")
        with pytest.raises(StoreUnavailable, match="read-only"):
            await store.write(partial(add, name="no"))
        await store.write(partial(add, name="kept"))
        assert store._writer.pid != first
        assert await names(store) == ["kept"]


async def test_many_topics_wake_their_own_waiters_only(address: str, opening: Open) -> None:
    topics = [f"inbox:{number:04}:項目" for number in range(2000)]
    assert sorted(topic for text in payloads(topics) for topic in json.loads(text)) == topics
    assert all(len(text.encode()) < 8000 for text in payloads(topics))

    async def wake(tx: Tx) -> None:
        tx.wake(*topics)

    async with opening(address) as here, opening(address) as there:
        counts = {"other": 0, topics[1500]: 0}
        woken, looked = asyncio.Event(), asyncio.Event()

        async def look(topic: str) -> bool | None:
            counts[topic] += 1
            if all(counts.values()):
                looked.set()
            if counts[topic] == 2:
                woken.set()
            return None

        waits = [
            asyncio.create_task(there.wait_until((topic,), partial(look, topic), 60))
            for topic in counts
        ]
        await looked.wait()
        await here.write(wake)
        with anyio.fail_after(5):
            await woken.wait()
        assert counts["other"] == 1
        there.end_waits()
        await asyncio.gather(*waits)


async def test_a_unit_that_goes_on_after_a_failed_statement_is_an_error(
    address: str, opening: Open
) -> None:
    async def swallowing(tx: Tx) -> None:
        await add(tx, "half")
        try:
            await tx.run("insert into things (id, name) values (1, null)")
        except asyncpg.PostgresError:
            return

    async with opening(address) as store:
        with pytest.raises(Exception, match=r"went on after|aborted"):
            await store.write(swallowing)
        assert await names(store) == []
        await store.write(partial(add, name="next"))
        assert await names(store) == ["next"]


async def test_trips_are_few(address: str, opening: Open) -> None:
    network = Network(address)

    async def three(tx: Tx) -> None:
        for number in range(3):
            await add(tx, f"{number}")

    async with network.up() as url, opening(url) as store:
        for _ in range(2):  # statements are prepared once
            await store.write(three)
            await names(store)
            async with store.turn("chat"):
                pass
        before = network.trips
        await names(store)
        read = network.trips - before
        await store.write(three)
        written = network.trips - before - read
        async with store.turn("chat"):
            pass
        turn = network.trips - before - read - written
    assert (read, written, turn) == (1, 5, 2)


async def test_a_migration_only_one_engine_takes_is_the_plugins_mistake(
    address: str, tmp_path: Path
) -> None:
    store = PostgresStore(address, tmp_path, 12)
    bad = Migration(name="0001_odd", sql="create table odd (id integer) without rowid;")
    with pytest.raises(PluginError, match=r"plugin 'gadgets'.*0001_odd"):
        async with store.opened({"gadgets": [bad]}):
            pass


async def test_a_character_that_cannot_be_kept_is_the_callers_mistake(
    address: str, opening: Open
) -> None:
    async with opening(address) as store:
        with pytest.raises(InvalidArguments, match=r"U\+0000"):
            await store.write(partial(add, name="a\0b"))
        with pytest.raises(InvalidArguments, match=r"U\+0000"):
            await store.one("select 1 from things where name = ?", "a\0b")
        await store.write(partial(add, name="kept"))
        assert await names(store) == ["kept"]


@pytest.mark.parametrize("text", ["it's", "a'); drop table things; --", "back\\slash'", "日本"])
async def test_no_text_gets_out_of_a_literal(
    address: str, opening: Open, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    async def news(tx: Tx) -> None:
        tx.wake(text)

    async with opening(address) as here, opening(address) as there:
        async with here.turn(text) as turn:
            assert turn.lasts()
        monkeypatch.setattr(there._wakeups, "ring", heard.extend)
        await here.write(news)
        with anyio.fail_after(5):
            while not heard:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert heard == [text]
        assert await names(here) == []
