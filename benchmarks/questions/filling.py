"""Stores that have been in use for long: as many messages, notifications and tasks as you like."""

import sqlite3
from contextlib import closing
from pathlib import Path

from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings
from aipm_sessions.api import DIRECTORY, SESSIONS

from aipm_core import Session, Tx
from aipm_core.models import Purpose
from aipm_core.runtime import Runtime

AGENTS = ("ann", "bob")
# Read messages between the two; half of the notifications read ones of bob, half unread ones of a
# hundred others; all tasks bob's, in the states that tasks are in.
FILL = """
    begin;
    create temp table n as
        with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})
        select i from n;
    insert into messages (id, project_id, sender_id, receiver_id, content, created_at, read_at)
        select 'msg_' || printf('%011x', 1767225600000 + i) || hex(randomblob(6)), 'p',
            case i % 2 when 0 then 'ann' else 'bob' end,
            case i % 2 when 0 then 'bob' else 'ann' end, 'message ' || i,
            '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' from n;
    insert into messages_search (messages_search) values ('rebuild');
    insert into notifications (id, agent_id, project_id, type, interrupt, message, created_at,
            expires_at, read_at)
        select 'ntf_' || i, case when i % 2 then 'bob' else 'agent-' || (i % 200) end, 'p',
            'interrupt', 1, 'm', '2026-01-01T00:00:00.000Z', 9e9,
            case when i % 2 then 4e9 end from n;
    insert into tasks (id, project_id, title, description, status, priority, rank, assignee_id,
            depth, approval_status, created_at, updated_at)
        select 'tsk_' || i, 'p', 't', '', case i % 4 when 0 then 'done' when 1 then 'backlog'
            when 2 then 'todo' else 'blocked' end, 'medium', i % 4, 'bob', 1, 'approved',
            '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' from n;
    commit;
    analyze;
"""


async def furnish(place: Path) -> None:
    """Make an empty store with a project, its directory and two agents."""
    (place / "work").mkdir(parents=True)

    async def unit(tx: Tx) -> None:
        await tx.run(
            "insert into projects (id, name, directory, created_at) values ('p', 'p', ?, '')",
            str(place / "work"),
        )
        for agent in AGENTS:
            await tx.run(
                "insert into agents (id, name, kind, role, passkey_hash, created_at) "
                "values (?, ?, 'ai', 'worker', '', '')",
                *(agent, agent),
            )
            await tx.run("insert into project_agents values ('p', ?)", agent)

    async with open_runtime(settings(place)) as runtime:
        await runtime.store.write(unit)


def fill(place: Path, count: int) -> None:
    """Put so many of everything into a store that is not open."""
    with closing(sqlite3.connect(place / "data" / "aipm.db", isolation_level=None)) as database:
        database.execute("pragma synchronous = off")
        database.executescript(FILL.format(count=count))
        database.execute("pragma wal_checkpoint(truncate)")


def settings(place: Path) -> Settings:
    """Return the settings: all plugins as they come."""
    return Settings(data_dir=place / "data")


async def session(runtime: Runtime, agent_id: str, purpose: Purpose) -> Session:
    """Open a session of an agent."""
    directory, sessions = runtime.services.use(DIRECTORY), runtime.services.use(SESSIONS)
    agent = await directory.agent(runtime.store, agent_id)
    assert agent is not None
    opened, _ = await runtime.store.write(lambda tx: sessions.open(tx, agent, "p", purpose))
    return opened
