"""For tests of plugins: a project, its agents, and real sessions of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aipm_devkit.testing import TestRuntime, running

from aipm_core import (
    Clock,
    Dialect,
    Failure,
    Json,
    Kind,
    PluginClass,
    Purpose,
    Reply,
    Request,
    Session,
    Tx,
    system_clock,
)
from aipm_sessions.api import DIRECTORY, SESSIONS, WORK
from aipm_sessions.plugin import Sessions

# Written beside the calls: when somebody was last heard of, and what only follows the messages.
_NOT_COMPARED = {
    "sessions": {"last_seen"},
    "ui_sessions": {"last_used"},
    "agent_threads": {"beat"},
}
_FOLLOWING = ("chat_outbox", "messages_search", "aipm_turns", "clock_course", "view_")
_TABLES: dict[Dialect, str] = {
    "sqlite": "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    "postgresql": "select tablename as name from pg_tables where schemaname = 'public'",
}


class Team:
    """A runtime with people and agents in it."""

    def __init__(self, aipm: TestRuntime, root: Path) -> None:
        self.aipm = aipm
        self.root = root
        self.store = aipm.runtime.store
        self.services = aipm.runtime.services

    async def add_project(self, project_id: str) -> None:
        """Add a project with a directory of its own."""
        directory = self.root / project_id
        directory.mkdir()
        await self._run(
            "insert into projects (id, name, directory, created_at) values (?, ?, ?, '')",
            *(project_id, project_id, str(directory)),
        )

    async def add(self, *agent_ids: str, project: str = "p", kind: Kind = "ai") -> None:
        """Add agents without a usable passkey: their sessions are opened by :meth:`session`."""
        for agent_id in agent_ids:
            await self._run(
                "insert into agents (id, name, kind, role, passkey_hash, created_at) "
                "values (?, ?, ?, 'worker', '', '')",
                *(agent_id, agent_id, kind),
            )
            await self.assign(agent_id, project)

    async def assign(self, agent_id: str, project: str) -> None:
        """Put an agent into a project."""
        sql = "insert into project_agents (project_id, agent_id) values (?, ?)"
        await self._run(sql, project, agent_id)

    async def session(self, agent_id: str, purpose: Purpose = "chat", project: str = "p") -> Caller:
        """Open a session."""
        directory, sessions = self.services.use(DIRECTORY), self.services.use(SESSIONS)
        agent = await directory.agent(self.store, agent_id)
        if agent is None:
            raise AssertionError(f"there is no agent {agent_id}")
        opened = await self.store.write(lambda tx: sessions.open(tx, agent, project, purpose))
        return Caller(self, *opened)

    async def dump(self) -> dict[str, list[tuple[object, ...]]]:
        """Return everything that is stored."""
        names = await self.store.scan(_TABLES[self.store.dialect])
        return {
            row["name"]: await self.rows(row["name"])
            for row in names
            if not row["name"].startswith(_FOLLOWING)
        }

    async def rows(self, table: str) -> list[tuple[object, ...]]:
        """Return what is in a table, without what changes beside the calls."""
        left_out = _NOT_COMPARED.get(table, set())
        rows = await self.store.scan(f"select * from {table}")
        columns = [name for name in rows[0].keys() if name not in left_out] if rows else []  # noqa: SIM118
        return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)

    async def _run(self, sql: str, *params: object) -> None:
        async def unit(tx: Tx) -> None:
            await tx.run(sql, *params)

        await self.store.write(unit)


class Caller:
    """One session of one agent, which calls tools with its token."""

    def __init__(self, team: Team, session: Session, token: str) -> None:
        self.team = team
        self.session = session
        self.token = token

    async def call(self, tool: str, /, **arguments: Json) -> Reply:
        """Call a tool as a transport would."""
        request = Request(tool=tool, arguments=arguments, credential=self.token)
        return await self.team.aipm.runtime.call(request)

    async def does(self, tool: str, /, **arguments: Json) -> dict[str, Any]:
        """Call a tool that must succeed, and return its result."""
        reply = await self.call(tool, **arguments)
        if reply.error is not None or reply.replaced is not None:
            raise AssertionError(f"{tool}: {reply}")
        result: dict[str, Any] = reply.result
        return result

    async def refused(self, tool: str, /, **arguments: Json) -> Failure:
        """Call a tool that must be refused and must not change anything."""
        before = await self.team.dump()
        reply = await self.call(tool, **arguments)
        after = await self.team.dump()
        if reply.error is None:
            raise AssertionError(f"{tool} was not refused: {reply}")
        for table in after:
            if before[table] != after[table]:
                raise AssertionError(f"{tool} was refused and still changed {table}")
        return reply.error

    async def next_action(self) -> Mapping[str, Json] | None:
        """Return what the session should do now, if anything, as ``get_next_action`` finds it."""
        work = self.team.services.use(WORK)
        for source in work.sources(self.session.purpose):
            if (found := await source.look(self.session)) is not None:
                return found
        return None

    async def awaited_action(self, seconds: float = 10) -> Mapping[str, Json]:
        """Wait for something to do, as ``get_next_action`` waits."""
        sources = self.team.services.use(WORK).sources(self.session.purpose)
        topics = [topic for source in sources for topic in source.topics(self.session)]
        found = await self.team.store.wait_until(topics, self.next_action, seconds)
        if found is None:
            raise AssertionError("nothing to do")
        return found

    async def ends(self) -> None:
        """Log out."""
        await self.does("logout")


@asynccontextmanager
async def team(
    *plugins: PluginClass,
    root: Path,
    clock: Clock = system_clock,
    **settings: Any,  # noqa: ANN401 - tables of settings, as running() takes them
) -> AsyncGenerator[Team]:
    """Run with the named plugins and sessions, and a project ``p`` with a directory."""
    async with running(Sessions, *plugins, clock=clock, **settings) as aipm:
        made = Team(aipm, root)
        await made.add_project("p")
        yield made
