"""One worker per session: none waits for another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial

import anyio
from aipm_sessions.api import Directory
from aipm_ui_gateway.api import UiSessions

from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.input_queue import INPUTS, InputQueue
from aipm_agent_loop.leases import LEASE_SECONDS, Held, Leases
from aipm_agent_loop.runs import Run, Runs
from aipm_agent_loop.turn import TurnMaker
from aipm_core import PluginContext, Session, StoreUnavailable, Tx, background

logger = logging.getLogger(__name__)


class Workers:
    """Starts a worker where there is work, in processes that serve people."""

    def __init__(
        self,
        ctx: PluginContext[AgentLoopConfig],
        input_queue: InputQueue,
        runs: Runs,
        turns: TurnMaker,
        sessions: UiSessions,
        directory: Directory,
    ) -> None:
        self._ctx = ctx
        self._input_queue = input_queue
        self._runs = runs
        self._turns = turns
        self._sessions = sessions
        self._directory = directory
        self._leases = Leases(ctx)
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def working(self) -> AsyncGenerator[None]:
        """Be a process that works, from its start on: take up what a crash has left."""
        self._input_queue.used = True
        await self._ctx.store.write(_ring)
        yield

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Work while the runtime lives; in the end close what is under way."""
        async with background(agent_loop=self._supervise, agent_leases=self._renew):
            yield
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._input_queue.used:
            self._leases.drop()
            await self._leases.tidy()

    async def _supervise(self) -> None:
        while not self._ctx.store.ending:
            try:
                found = await self._ctx.store.wait_until((INPUTS,), self._look, LEASE_SECONDS / 4)
                for held in found or ():
                    await self._take_over(held)
            except Exception:
                logger.exception("looking for work failed; trying again soon")
                await anyio.sleep(1)

    async def _look(self) -> list[Held] | None:
        return (await self._leases.claimable() or None) if self._input_queue.used else None

    async def _take_over(self, held: Held) -> None:
        self._leases.hold()
        if await self._ctx.store.write(lambda tx: self._leases.claim(tx, held)):
            self._start(held.session_id)

    def _start(self, session_id: str) -> None:
        task = asyncio.create_task(self._work(session_id))
        self._tasks.add(task)
        self._leases.working.add(session_id)
        task.add_done_callback(partial(self._ended, session_id))

    def _ended(self, session_id: str, task: asyncio.Task[None]) -> None:
        """Note that nobody works on a session any more, however that came."""
        self._tasks.discard(task)
        self._leases.working.discard(session_id)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("a session could not be let go (%s); it is taken up again soon", error)

    async def _renew(self) -> None:
        while True:
            await anyio.sleep(LEASE_SECONDS / 4)
            if self._leases.working:
                # No pause that grows with every failure: it would outlast the lease.
                with suppress(StoreUnavailable):
                    await self._ctx.store.write(self._leases.renew)

    async def _work(self, session_id: str) -> None:
        """Work off the queue of one session, in order."""
        try:
            await self._close_left_behind(session_id)
            while (run := await self._next(session_id)) is not None:
                await self._turns.make(run, await self._caller(run)).play()
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await self._ctx.store.write(lambda tx: self._let_go(tx, session_id))
            raise
        except Exception:
            logger.exception("the worker of a session failed")
            await self._ctx.store.write(lambda tx: self._let_go(tx, session_id))

    async def _close_left_behind(self, session_id: str) -> None:
        if await self._runs.running(self._ctx.store, session_id) is not None:
            await self._ctx.store.write(lambda tx: self._runs.recover(tx, session_id))

    async def _next(self, session_id: str) -> Run | None:
        """Begin the next run; what still waits when the program stops is left to the next one."""

        async def unit(tx: Tx) -> Run | None:
            if not self._ctx.store.ending:
                return await self._runs.take(tx, session_id, self._leases.owner)
            await self._runs.release(tx, session_id, self._leases.owner)
            return None

        return await self._ctx.store.write(unit)

    async def _let_go(self, tx: Tx, session_id: str) -> None:
        """Leave nothing open, unless another process has taken over."""
        held = await tx.one(
            "select 1 from agent_threads where session_id = ? and owner = ?",
            *(session_id, self._leases.owner),
        )
        if held is not None:
            await self._runs.recover(tx, session_id)
            await self._runs.release(tx, session_id, self._leases.owner)

    async def _caller(self, run: Run) -> Session | None:
        """Return as whom the agent of a session calls tools; ``None`` if the session is over."""
        session = await self._sessions.find(self._ctx.store, run.session_id)
        if session is None:
            return None
        agent = await self._directory.agent(self._ctx.store, session.agent_id)
        if agent is None:
            return None
        return Session(
            id=session.id,
            agent_id=agent.id,
            project_id=session.project_id,
            purpose="chat",
            role=agent.role,
            kind=agent.kind,
            agent_name=agent.name,
        )


async def _ring(tx: Tx) -> None:
    tx.wake(INPUTS)
