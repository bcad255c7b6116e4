"""Watches sessions come and go, and gives their tasks to whoever can work on them."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import anyio

from aipm_core import Json, PluginContext, Purpose, Session, Tx, background
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig

logger = logging.getLogger(__name__)


class SessionWatch:
    """What a session that opens or closes means for tasks."""

    def __init__(self, ctx: PluginContext[TasksConfig], bindings: Bindings) -> None:
        self._ctx = ctx
        self._bindings = bindings

    async def purpose_for(self, tx: Tx, agent_id: str, project_id: str) -> Purpose | None:
        """Work first: an agent with a running task that nobody attends to gets a task session."""
        return "task" if await self._bindings.waiting(tx, agent_id, project_id) else None

    async def opened(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Give a new task session its task, if one waits."""
        if session.purpose != "task":
            return {}
        task = await self._bindings.take(tx, session)
        return {"task_id": task.id} if task else {}

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        """Free the task of a session that ended."""
        await self._bindings.free(tx, session.id)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Free the tasks of silent sessions while the runtime lives."""
        async with background(task_leases=self._work):
            yield

    async def _work(self) -> None:
        while True:
            await anyio.sleep(min(30.0, self._ctx.config.lease_seconds / 4))
            try:
                if await self._bindings.silent(self._ctx.store):
                    await self._ctx.store.write(self._bindings.free_silent)
            except Exception:
                logger.exception("freeing the tasks of silent sessions failed")
