"""A team in a real runtime, for tests of tasks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_devkit.testing import TestRuntime, running
from aipm_notifications.api import INBOX
from aipm_notifications.plugin import Notifications
from aipm_sessions.api import DIRECTORY, OPERATOR, SESSIONS
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_tasks.api import TASKS, NewTask
from aipm_tasks.plugin import Tasks

from aipm_core import Reply
from aipm_core.models import Session


class Watch:
    """A clock that moves a little with every look, and far when told."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 0.001
        return self.time


class Team:
    """boss above lead above worker and peer, all in project p; stranger in project q."""

    def __init__(self, aipm: TestRuntime, watch: Watch) -> None:
        self.aipm = aipm
        self.watch = watch
        self.services = aipm.runtime.services
        self.store = aipm.runtime.store
        self.tasks = self.services.use(TASKS)

    async def found(self) -> None:
        administration = self.services.use(ADMINISTRATION)
        for project in ("p", "q"):
            await administration.add_project(project, project, None)
        people: list[tuple[str, Any, Any, str | None]] = [
            ("boss", "human", "manager", None),
            ("lead", "ai", "manager", "boss"),
            ("worker", "ai", "worker", "lead"),
            ("peer", "ai", "worker", "lead"),
        ]
        for name, kind, role, parent in people:
            await self._add(name, "p", kind, role, parent)
        await self._add("stranger", "q", "ai", "manager", None)
        await self._add("guest", "q", "human", "worker", None)

    async def _add(self, name: str, project: str, kind: str, role: str, parent: str | None) -> None:
        async def unit(tx: Any) -> None:
            await tx.run(
                "insert into agents (id, name, kind, role, parent_id, passkey_hash, created_at) "
                "values (?, ?, ?, ?, ?, 'x', '2026')",
                *(name, name, kind, role, parent),
            )
            await tx.run("insert into project_agents values (?, ?)", project, name)

        await self.store.write(unit)

    async def session(
        self, agent: str = "worker", purpose: Any = "task", project: str = "p"
    ) -> Session:
        """Open a session as ``authenticate`` does, without its passkey."""
        who = await self.services.use(DIRECTORY).agent(self.store, agent)
        assert who is not None
        sessions = self.services.use(SESSIONS)
        found, _ = await self.store.write(lambda tx: sessions.open(tx, who, project, purpose))
        return found

    async def close(self, session: Session, reason: str = "logout") -> None:
        sessions = self.services.use(SESSIONS)
        await self.store.write(lambda tx: sessions.close(tx, session.id, reason))

    async def is_live(self, session: Session) -> bool:
        return await self.services.use(SESSIONS).find(self.store, session.id) is not None

    async def add(self, title: str = "t", status: Any = "backlog", **more: Any) -> str:
        """Add a task as the command line does."""
        more = {"assignee_id": "worker", "project_id": "p", **more}
        new = NewTask(title=title, actor_id=OPERATOR, status=status, **more)
        return (await self.tasks.add(new)).id

    async def move(self, task_id: str, status: Any, reason: str | None = None) -> None:
        await self.tasks.move(task_id, status, reason)

    async def status(self, task_id: str) -> str:
        found = await self.services.use(TASKS).find(self.store, task_id)
        assert found is not None
        return found.status

    async def bound(self, session: Session) -> str | None:
        task = await self.services.use(TASKS).of_session(self.store, session.id)
        return task.id if task else None

    async def call(self, tool: str, session: Session, /, **arguments: Any) -> Reply:
        return await self.aipm.call(tool, session, **arguments)

    async def result(self, tool: str, session: Session, /, **arguments: Any) -> Any:
        """Call a tool that must succeed."""
        reply = await self.call(tool, session, **arguments)
        assert reply.error is None, reply.error
        assert reply.replaced is None, reply.replaced
        return reply.result

    async def code(self, tool: str, session: Session, /, **arguments: Any) -> str | None:
        """Call a tool and return its error's code."""
        reply = await self.call(tool, session, **arguments)
        return reply.error.code if reply.error else None

    async def next(self, session: Session, timeout_seconds: int = 0) -> Any:
        return await self.result("get_next_action", session, timeout_seconds=timeout_seconds)

    async def unread(self, agent: str = "worker", project: str = "p") -> int:
        return await self.services.use(INBOX).unread(self.store, agent, project)

    async def rows(self, sql: str, *params: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in await self.store.all(sql, *params)]

    async def while_waiting(self, session: Session, act: Callable[[], Any]) -> Reply:
        """Do something while a session waits in ``get_next_action``; return its reply."""
        replies: list[Reply] = []

        async def wait() -> None:
            replies.append(await self.call("get_next_action", session, timeout_seconds=55))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert not replies, replies
            with anyio.fail_after(30):
                await act()
        return replies[0]


@asynccontextmanager
async def open_team(
    *more: Any,
    data_dir: Path | None = None,
    inbox: bool = True,
    locale: Any = "ja",
    new: bool = True,
    **settings: Any,
) -> AsyncGenerator[Team]:
    """Run a team; ``settings`` are those of the tasks plugin."""
    watch = Watch()
    plugins = [Sessions, Tasks, *([Notifications] if inbox else []), *more]
    options: dict[str, Any] = {"tasks": settings, "sessions": {"idle_seconds": 80_000}}
    async with running(*plugins, data_dir=data_dir, clock=watch, locale=locale, **options) as aipm:
        made = Team(aipm, watch)
        if new:
            await made.found()
        yield made


@pytest.fixture
def team() -> Callable[..., Any]:
    """Return what opens a team: ``async with team() as t``."""
    return open_team
