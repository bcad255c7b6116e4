"""Starts what is needed, as soon as it is needed, and holds on to what runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from aipm_sessions.api import MISSING_SESSIONS

from aipm_core import PluginContext, background
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.assignments import Assignments
from aipm_runner.claims import RunClaims
from aipm_runner.config import RunnerConfig
from aipm_runner.leases import BEAT_SECONDS, LEASE_SECONDS, RunLeases
from aipm_runner.lives import Lives
from aipm_runner.reaper import Reaper
from aipm_runner.runs import RUNS_CHANGED, Run, Runs
from aipm_runner.stored_records import StoredRecords

_IDLE_SECONDS = 60.0  # between looks while no agent has a program


class Supervisor:
    """One runner: inside the server, or a process of its own."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        agents: AgentPrograms,
        claims: RunClaims,
        leases: RunLeases,
        lives: Lives,
        reaper: Reaper,
        records: StoredRecords,
    ) -> None:
        self._ctx = ctx
        self._runs = runs
        self._agents = agents
        self._claims = claims
        self._leases = leases
        self._lives = lives
        self._assignments = Assignments(ctx, agents)
        self._records = records
        self._reaper = reaper
        self._missing = ctx.services.use(MISSING_SESSIONS)

    @asynccontextmanager
    async def running(
        self, mcp_url: Callable[[], Awaitable[str]], project_id: str | None = None
    ) -> AsyncGenerator[None]:
        """Start what is needed while the block runs; then stop everything."""
        self._leases.hold()

        async def supervise() -> None:
            await self._supervise(await mcp_url(), project_id)

        try:
            async with background(runner=supervise, runner_beats=self._beat):
                yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._lives.stop_all()
            self._leases.drop()

    @asynccontextmanager
    async def reaping(self) -> AsyncGenerator[None]:
        """See while the block runs which runners die, without being one."""

        async def reap() -> None:
            while True:
                await self._reaper.reap()
                await anyio.sleep(BEAT_SECONDS if await self._runs.alive() else LEASE_SECONDS / 2)

        async with background(runner_deaths=reap):
            yield

    async def _supervise(self, mcp_url: str, project_id: str | None) -> None:
        await self._reaper.sweep()
        while not self._ctx.store.ending:
            await self._reaper.reap()
            for run in await self._wait_for_work(project_id):
                given = await self._assignments.of(run)
                self._lives.begin(given, self._records, mcp_url)
        await anyio.sleep_forever()  # told to stop: nothing new is started

    async def _wait_for_work(self, project_id: str | None) -> list[Run]:
        """Wait for something to start, a free place, or the next look; claim what there is."""
        store, topics = self._ctx.store, await self._topics()

        async def look() -> list[Run] | None:
            room = self._ctx.config.max_runs - len(self._lives)
            found = await self._claims.claim(self._leases.owner, room, project_id)
            # With a first program or a new project there is more to listen to than before.
            return found if found or await self._topics() != topics else None

        return await store.wait_until(topics, look, await self._patience_seconds()) or []

    async def _topics(self) -> tuple[str, ...]:
        if not await self._agents.any(self._ctx.store):
            return (RUNS_CHANGED,)
        return (*await self._missing.topics(), RUNS_CHANGED)

    async def _patience_seconds(self) -> float:
        """Return how long to wait until the next look if nothing is heard."""
        if not await self._agents.any(self._ctx.store):
            return BEAT_SECONDS if await self._runs.alive() else _IDLE_SECONDS
        retry = await self._claims.next_retry()
        return BEAT_SECONDS if retry is None else min(BEAT_SECONDS, retry + 0.01)

    async def _beat(self) -> None:
        while True:
            if self._lives:
                await self._runs.write(self._leases.renew)
            await anyio.sleep(BEAT_SECONDS)
