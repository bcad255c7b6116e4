"""Data moves from SQLite to PostgreSQL and back, whole or not at all."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aipm_devkit.program import Install

from tests.agents import Agent, log_in, team
from tests.postgres import Postgres, database, server

WORDS = "こんにちは \U0001f642 'quoted' \\ back\tslash"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with server() as running:
        yield running


@pytest.fixture
def address(postgres: Postgres, tmp_path: Path) -> str:
    return asyncio.run(database(postgres.address, tmp_path))


@pytest.fixture
def install(tmp_path: Path, address: str) -> Install:
    """An SQLite install whose ``db copy`` goes to a database of its own."""
    made = Install.make(tmp_path / "here")
    made.environ["AIPM_COPY_TO"] = address
    return made


def tables(database: Path) -> dict[str, Any]:
    """Return the rows of every table that both engines have."""
    with closing(sqlite3.connect(database)) as connection:
        named = "select name from pragma_table_list where schema = 'main' and type = 'table'"
        return {
            name: sorted(connection.execute(f'select * from "{name}"').fetchall(), key=repr)
            for (name,) in connection.execute(named).fetchall()
            if not name.startswith(("sqlite_", "_sqlite", "messages_search"))
        }


def work_a_little(install: Install) -> Agent:
    keys = team(install, "ann", "bob")
    install.run("task", "add", "--project", "p", "--title", WORDS, "--assignee", "ann")
    install.run("token", "create", "--agent", "boss") if "boss" in keys else None
    with install.up() as running:
        ann = log_in(running.mcp, "ann", keys["ann"])
        for number in range(3):
            ann.result("send_message", target_agent_id="bob", content=f"{number} {WORDS}")
        return ann


def test_everything_goes_there_and_comes_back(install: Install, address: str) -> None:
    ann = work_a_little(install)
    before = tables(install.root / ".aipm-data" / "aipm.db")
    copied = install.json("db", "copy")
    assert copied["rows"] == sum(map(len, before.values())), before.keys()
    assert copied["tables"] == len(before)

    there = Install(install.root, {"AIPM_STORE__URL": address})
    with there.up() as running:  # the session that SQLite knew goes on, and so do the numbers
        again = Agent(running.mcp, ann.token)
        assert again.result("send_message", target_agent_id="bob", content="on PostgreSQL")
        found = again.result("list_tasks")["tasks"]
    assert [task["title"] for task in found] == [WORDS]

    (install.root / ".aipm-data" / "aipm.db").rename(install.root / "old.db")
    there.json("db", "copy", "--to", "sqlite")
    with install.up() as running:
        Agent(running.mcp, ann.token).result("send_message", target_agent_id="bob", content="back")
    lines = (install.root / "work/.ai-pm/agents/bob/chat.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["content"] for line in lines.splitlines()][-2:] == [
        "on PostgreSQL",
        "back",
    ]
    assert install.run("doctor").returncode == 0


async def rows_of_everything(address: str) -> int:
    connection = await asyncpg.connect(address)
    try:
        return int(
            await connection.fetchval("select count(*) from pg_tables where schemaname = 'public'")
        )
    finally:
        await connection.close()


def test_a_row_that_does_not_fit_leaves_the_target_empty(install: Install, address: str) -> None:
    work_a_little(install)
    with closing(sqlite3.connect(install.root / ".aipm-data" / "aipm.db")) as connection:
        connection.execute("update messages set content = 'a' || char(0) where seq = 2")
        connection.commit()
    failed = install.run("db", "copy", check=None)
    assert failed.returncode in (1, 2)
    assert len(failed.stderr.strip().splitlines()) == 1, failed.stderr
    assert asyncio.run(rows_of_everything(address)) == 0


def test_nothing_is_copied_over_data_or_beside_a_server(install: Install, address: str) -> None:
    work_a_little(install)
    with install.up():
        assert "stop `aipm up`" in install.run("db", "copy", check=4).stderr
    install.run("db", "copy")
    assert "holds data of aipm already" in install.run("db", "copy", check=4).stderr
    there = Install(install.root, {"AIPM_STORE__URL": address})
    assert "exists already" in there.run("db", "copy", "--to", "sqlite", check=4).stderr


def test_bad_words_are_refused_in_one_sentence(install: Install) -> None:
    install.environ.clear()
    install.run("project", "add", "p")
    secret = "postgresql://me:hunter2@127.0.0.1/x"
    said = install.run("db", "copy", "--to", secret, check=2).stderr
    assert "AIPM_COPY_TO" in said
    assert "hunter2" not in said
    assert "backup" in install.run("db", "copy", "--to", "sqlite", check=2).stderr
    assert "mysql" in install.run("db", "copy", "--to", "mysql://x/y", check=2).stderr
    nobody = install.run("db", "copy", "--to", "postgresql://me@127.0.0.1:1/x", check=None)
    assert nobody.returncode in (1, 2)
    assert "cannot be used" in nobody.stderr
