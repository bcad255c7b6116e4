"""Backups are made while others write, are whole, and come back as one step or not at all."""

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import anyio
import httpx
import pytest
from aipm_cli.program import migrations_of
from aipm_cli.settings_file import load
from aipm_devkit.program import AIPM, Install
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_store import directory_lock
from aipm_store.engines import make_store
from aipm_store.event_log import MIGRATIONS
from aipm_store.keeping import KeptEngine

from aipm_core.errors import AipmError, CallError, StoreError
from aipm_core.store import Migration

DRIVER = Path(__file__).with_name("crash_driver.py")
RESTORER = Path(__file__).with_name("restore_driver.py")
KNOWN = {"aipm_core": MIGRATIONS}


def ids(database: Path) -> set[str]:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        return {row[0] for row in connection.execute("select id from projects")}


def quiet(_done: int, _total: int) -> None:
    """Nobody looks."""


class Writers:
    """A process that writes without a pause."""

    def __init__(self, data_dir: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, DRIVER, data_dir, "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def next(self, count: int) -> set[str]:
        """Return the names of that many more acknowledged writes."""
        assert self._process.stdout is not None
        got: set[str] = set()
        while len(got) < count:
            word, _, name = self._process.stdout.readline().strip().partition(" ")
            if word == "ack":
                got.add(name)
        return got

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Writers]:
    started = Writers(tmp_path / ".aipm-data")
    yield started
    started.kill()


def test_a_backup_under_load_holds_what_was_acknowledged_before_it(
    tmp_path: Path, writers: Writers
) -> None:
    install = Install.make(tmp_path)
    before = writers.next(500)
    install.run("backup", "one.db")
    between = writers.next(500)
    install.run("backup", "two.db")
    one, two = ids(tmp_path / "one.db"), ids(tmp_path / "two.db")
    assert before <= one
    assert before | between <= two
    assert one <= two
    assert stat.S_IMODE((tmp_path / "one.db").stat().st_mode) == 0o600
    assert not list(tmp_path.glob("one.db-*"))


def test_a_team_is_back_after_its_data_is_gone(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p", "--dir", "work")
    install.run("agent", "add", "ann", "--project", "p", "--type", "human")
    install.run("agent", "add", "bob", "--project", "p")
    token = install.json("token", "create", "--agent", "ann")["token"]
    install.run("say", "bob", "--project", "p", "--as", "ann", "first")
    with install.up():
        made = install.json("backup", str(tmp_path))
    chat = tmp_path / "work" / ".ai-pm" / "agents" / "bob" / "chat.jsonl"
    written = chat.read_bytes()
    install.run("say", "bob", "--project", "p", "--as", "ann", "after the backup")
    for path in (tmp_path / ".aipm-data").glob("aipm.db*"):
        path.unlink()
    answer = install.json("restore", made["file"])
    assert answer["previous"] is None
    install.run("doctor", "--rebuild-chat")
    assert chat.read_bytes() == written
    with install.up() as server:
        headers = {"authorization": f"Bearer {token}"}
        url = f"{server.url}/api/projects/p/agents/bob/chat/messages"
        messages = httpx.get(url, headers=headers).json()["messages"]
        assert [m["content"] for m in messages] == ["first"]


def test_a_backup_overwrites_nothing(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "list")
    taken = tmp_path / "taken"
    taken.write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("taken", "link", ".aipm-data/aipm.db"):
        assert "exists already" in install.run("backup", name, check=4).stderr
    assert taken.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    done = install.run("backup", "x.db", check=3)
    assert "nothing to back up" in done.stderr
    install.run("project", "list")
    done = install.run("backup", "no/such/place.db", check=2)
    assert "No such file or directory" in done.stderr
    assert done.stderr.count("\n") == 1


def test_of_many_backups_with_one_name_one_is_written(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    racing = [
        subprocess.Popen([AIPM, "backup", "x.db"], cwd=tmp_path, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert sorted(process.wait(60) for process in racing) == [0, 4, 4, 4]
    assert ids(tmp_path / "x.db") == {"p"}
    assert [path.name for path in tmp_path.glob(".x.db*")] == []


async def stocked(data_dir: Path) -> KeptEngine:
    async with running(Sessions, data_dir=data_dir) as aipm:
        administration = aipm.runtime.services.use(ADMINISTRATION)
        async with anyio.create_task_group() as tasks:
            for number in range(300):
                name = f"p{number}"
                tasks.start_soon(administration.add_project, name, "x" * 20_000, None)
    return make_store("sqlite", data_dir)


async def test_a_copy_is_of_one_moment_however_much_is_written_meanwhile(tmp_path: Path) -> None:
    engine = await stocked(tmp_path / "data")
    seen: list[tuple[int, int]] = []

    def write_meanwhile(done: int, total: int) -> None:
        seen.append((done, total))
        with closing(sqlite3.connect(tmp_path / "data" / "aipm.db")) as other, other:
            other.execute(
                f"insert into projects (id, name, created_at) values ('new{len(seen)}', '', '')"
            )

    await engine.copy_to(tmp_path / "x.db", write_meanwhile)
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]
    assert ids(tmp_path / "x.db") == {f"p{number}" for number in range(300)}


async def test_a_copy_given_up_leaves_nothing(tmp_path: Path) -> None:
    engine = await stocked(tmp_path / "data")
    begun = threading.Event()

    def give_up(_done: int, _total: int) -> None:
        begun.set()
        anyio.from_thread.run_sync(scope.cancel)

    with anyio.CancelScope() as scope:
        await engine.copy_to(tmp_path / "x.db", give_up)
    assert begun.is_set()
    assert set(os.listdir(tmp_path)) == {"data"}  # noqa: PTH208


@pytest.mark.parametrize("command", [("up", "--port", "0", "--json"), ("mcp",)])
def test_nobody_may_be_using_the_data(tmp_path: Path, command: tuple[str, ...]) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    install.run("backup", "x.db")
    process = subprocess.Popen(
        [AIPM, *command],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        if command == ("mcp",):
            process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
        assert process.stdout.readline()
        for freeze in (False, True):
            if freeze:
                process.send_signal(signal.SIGSTOP)
            done = install.run("restore", "x.db", "--replace", check=4)
            assert "is in use" in done.stderr
    finally:
        process.kill()
        process.communicate()
    install.run("restore", "x.db", "--replace")


def test_nobody_starts_while_data_is_replaced(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    with directory_lock.alone(tmp_path / ".aipm-data"):
        for command in (("project", "list"), ("up", "--port", "0"), ("backup", "x.db")):
            assert "is being restored" in install.run(*command, check=2).stderr


def _text(file: Path) -> None:
    file.write_text("not a database", encoding="utf-8")


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _half(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])


def _flipped(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("pragma writable_schema = 1")
        connection.execute("update sqlite_master set rootpage = 3 where name = 'projects'")


def _foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("create table songs (name text)")


def _newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "insert into _sqlite_migrations (migration_set, name, applied_at) "
            "values ('notifications', '9999_future', '')"
        )


def _orphaned(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("insert into project_agents values ('ghost', 'ghost')")


def _with_a_trigger(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "create trigger minted after insert on agents begin insert into ui_tokens "
            "values ('uit_x', 'hash', new.id, '', 9e9, null); end"
        )


def _with_a_view(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("create view everyone as select * from agents")


def _tailed(file: Path) -> None:
    file.with_name(f"{file.name}-wal").write_bytes(b"newest changes")


BAD_BACKUPS: list[tuple[Callable[[Path], None], str]] = [
    (_text, "not a whole backup"),
    (_empty, "not a backup of aipm"),
    (_half, "not a whole backup"),
    (_flipped, "not a whole backup"),
    (_foreign, "not a backup of aipm"),
    (_newer, "newer version of aipm"),
    (_orphaned, "refers to a missing row"),
    (_with_a_trigger, "holds a trigger that no plugin here makes"),
    (_with_a_view, "holds a view that no plugin here makes"),
    (_tailed, "database in use, not a backup"),
]


def test_a_bad_backup_changes_nothing(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    install.run("backup", "good.db")
    install.run("project", "add", "q")
    data = tmp_path / ".aipm-data"
    engine, known = make_store("sqlite", data), migrations_of(load(tmp_path / "aipm.toml"))
    with directory_lock.alone(data):
        before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    for spoil, sentence in BAD_BACKUPS:
        bad = tmp_path / f"{spoil.__name__}.db"
        shutil.copyfile(tmp_path / "good.db", bad)
        spoil(bad)
        with pytest.raises(AipmError, match=sentence):
            engine.restore_from(bad, known, replace=True)
        after = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
        assert after == before, spoil.__name__
    done = install.run("restore", "_half.db", "--replace", check=2)
    assert done.stderr.count("\n") == 1
    engine.restore_from(tmp_path / "good.db", known, replace=True)
    assert ids(data / "aipm.db") == {"p"}


def test_a_database_is_replaced_only_on_demand_and_kept(tmp_path: Path, writers: Writers) -> None:
    """The old database was killed while it wrote: its newest rows are in its log only."""
    install = Install.make(tmp_path)
    writers.next(10)
    install.run("backup", "x.db")
    acknowledged = writers.next(200)
    writers.kill()
    install.run("backup", "y.db")
    assert acknowledged <= ids(tmp_path / "y.db")
    assert "exists already" in install.run("restore", "x.db", check=4).stderr
    kept = Path(install.json("restore", "x.db", "--replace")["previous"])
    assert acknowledged <= ids(kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert ids(tmp_path / ".aipm-data" / "aipm.db") == ids(tmp_path / "x.db")


def test_a_damaged_database_is_replaced_with_its_log(tmp_path: Path, writers: Writers) -> None:
    """Nothing of the old log may be read into the restored database."""
    install = Install.make(tmp_path)
    writers.next(10)
    install.run("backup", "x.db")
    writers.next(200)
    writers.kill()
    database = tmp_path / ".aipm-data" / "aipm.db"
    log = database.with_name("aipm.db-wal").read_bytes()
    assert log
    database.write_bytes(b"garbage" * 1000)
    kept = Path(install.json("restore", "x.db", "--replace")["previous"])
    assert kept.read_bytes() == b"garbage" * 1000
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == log
    assert ids(database) == ids(tmp_path / "x.db")


def test_a_restore_killed_at_any_moment_leaves_a_whole_database(tmp_path: Path) -> None:
    chance = random.Random(5)
    install = Install.make(tmp_path)
    data = tmp_path / ".aipm-data"
    for name in ("one", "two"):
        install.run("project", "add", name)
        install.run("backup", f"{name}.db")
    seen: set[frozenset[str]] = set()
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, RESTORER, data, tmp_path / "one.db", tmp_path / "two.db"],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"restored\n"
        time.sleep(chance.random() * 0.1)  # the moment of death is the test's input
        process.kill()
        process.communicate()
        seen.add(frozenset(ids(data / "aipm.db")))
    assert seen == {frozenset({"one"}), frozenset({"one", "two"})}
    install.run("restore", "one.db", "--replace")
    assert not list(data.glob(".aipm.db.*"))


async def test_an_older_backup_is_restored_and_a_newer_one_is_not(tmp_path: Path) -> None:
    older = make_store("sqlite", tmp_path / "older")
    async with older.opened(KNOWN):
        pass
    await older.copy_to(tmp_path / "x.db", quiet)
    newer = make_store("sqlite", tmp_path / "newer")
    step = Migration(name="0002_more", sql="create table more (id text)")
    newer.restore_from(tmp_path / "x.db", {"aipm_core": [*MIGRATIONS, step]}, replace=False)
    async with newer.opened({"aipm_core": [*MIGRATIONS, step]}):
        assert await newer.all("select * from more") == []
    await newer.copy_to(tmp_path / "y.db", quiet)
    with pytest.raises(StoreError, match="newer version"):
        older.restore_from(tmp_path / "y.db", KNOWN, replace=True)
    async with older.opened(KNOWN):
        with pytest.raises(CallError, match="in use"):
            older.restore_from(tmp_path / "x.db", KNOWN, replace=True)


@pytest.mark.parametrize("changed", ["", " + 1"])
async def test_a_trigger_that_a_plugin_makes_is_its_own_and_no_other(
    tmp_path: Path, changed: str
) -> None:
    """The one of the backup must be the one of the plugin, to the letter."""
    sql = "create trigger if not exists counted after insert on seen begin\n"
    sql += "  update seen set n = n + 1;\nend;"
    tables = Migration(name="0001", sql=f"create table seen (n integer); {sql}")
    core = {"aipm_core": [Migration(name="0001", sql="create table core (n integer)")]}
    known = {**core, "counting": [tables]}
    async with make_store("sqlite", tmp_path / "data").opened(known):
        pass
    backup = tmp_path / "backup.db"
    with closing(sqlite3.connect(tmp_path / "data" / "aipm.db")) as connection, connection:
        connection.execute("drop trigger counted")
        connection.execute(sql.replace("n + 1", f"n + 1{changed}"))
    with closing(sqlite3.connect(tmp_path / "data" / "aipm.db")) as connection:
        connection.execute("vacuum into ?", (str(backup),))
    engine = make_store("sqlite", tmp_path / "restored")
    if not changed:
        assert engine.restore_from(backup, known, replace=False) is None
    else:
        with pytest.raises(AipmError, match="trigger that no plugin here makes"):
            engine.restore_from(backup, known, replace=False)
