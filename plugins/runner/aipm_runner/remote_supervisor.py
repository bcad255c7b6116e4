"""``aipm runner --server``: runs programs here for a server elsewhere; it alone makes requests."""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.to_thread
from aipm_processes.api import end_marked

from aipm_core import Json, PluginContext, background
from aipm_runner.config import RunnerConfig
from aipm_runner.leases import BEAT_SECONDS, RunLeases
from aipm_runner.lives import Lives
from aipm_runner.outbox import HeldRun, Outbox
from aipm_runner.places import Places
from aipm_runner.process import MARK
from aipm_runner.programs import Programs
from aipm_runner.remote_records import RemoteRecords
from aipm_runner.run_records import Assignment
from aipm_runner.runner_messages import LONGEST_WAIT_SECONDS, EndReport
from aipm_runner.runs import Runs
from aipm_runner.server_client import RefusedError, ServerClient, UnreachableError

logger = logging.getLogger(__name__)
_PAUSE_SECONDS = 1.0
_CHANGES_SECONDS = 10.0
_LAST_WORDS_SECONDS = 5.0
_UNAUTHORISED, _NOT_FOUND = 401, 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which agents a runner starts."""

    project_id: str | None = None
    under: str | None = None


class RemoteSupervisor:
    """One runner on a machine that the server cannot reach."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        leases: RunLeases,
        lives: Lives,
        places: Places,
        programs: Programs,
    ) -> None:
        self._ctx = ctx
        self._leases = leases
        self._lives = lives
        self._places = places
        self._programs = programs
        self._outbox = Outbox(runs)
        self.refused: asyncio.Future[RefusedError] | None = None
        """Set when the server wants nothing to do with this runner any more."""

    @asynccontextmanager
    async def running(self, client: ServerClient, scope: Scope) -> AsyncGenerator[None]:
        """Run what the server has while the block runs; then stop everything and tell it so."""
        self.refused = asyncio.get_running_loop().create_future()
        records = RemoteRecords(self._ctx, client, self._outbox, self._leases.owner)
        self._leases.hold()
        try:
            await self._check(client, scope)
            await self._adopt(client.url)
            async with background(
                runner_claims=lambda: self._claim(client, records, scope),
                runner_watch=lambda: self._watch(client, records),
                runner_reports=lambda: self._send(client),
                runner_changes=lambda: self._show_changes(records),
            ):
                yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._lives.stop_all()
                with anyio.move_on_after(_LAST_WORDS_SECONDS):
                    await self._send_all(client)
            self._leases.drop()

    async def until_refused(self, stopped: asyncio.Event) -> RefusedError | None:
        """Wait until somebody says stop; return why the server wants no more, if it does not."""
        told = asyncio.create_task(stopped.wait())
        waits: set[asyncio.Future[Any]] = {told}
        if self.refused is not None:
            waits.add(self.refused)
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        done = self.refused is not None and self.refused.done()
        return self.refused.result() if self.refused is not None and done else None

    async def _check(self, client: ServerClient, scope: Scope) -> None:
        """Be refused at once rather than wait for what never comes."""
        with suppress(UnreachableError):
            await client.ask("/api/runner/claim", await self._request(scope, 0, 0))

    async def _request(self, scope: Scope, room: int, waits: float) -> dict[str, Json]:
        held = [run.run_id for run in await self._outbox.held()]
        return {
            "owner": self._leases.owner,
            "machine": platform.node() or "unknown",
            "room": room,
            "wait_seconds": waits,
            "project_id": scope.project_id,
            "under": scope.under,
            "programs": self._programs.names(),
            "holds": held,
        }

    async def _adopt(self, server: str) -> None:
        """End what runners of this machine have left that were killed, and tell the server."""
        for held in await self._outbox.held():
            abandoned = self._leases.is_dead(held.owner)
            if held.server == server and abandoned and not held.over:
                await self._bury(held)

    async def _bury(self, held: HeldRun) -> None:
        await anyio.to_thread.run_sync(end_marked, MARK, (held.run_id,))
        commit = await self._places.save(held.run_id, held.workspace, held.repository)
        report = EndReport(
            reason="runner_lost",
            evidence="lease",
            detail=self._ctx.texts("ends.runner_lost"),
            snapshot=commit,
        )
        await self._outbox.put(held.run_id, report.model_dump())

    async def _claim(self, client: ServerClient, records: RemoteRecords, scope: Scope) -> None:
        while not self._ctx.store.ending:
            room = max(0, self._ctx.config.max_runs - len(self._lives))
            self._lives.changed.clear()
            if room == 0:
                await self._lives.changed.wait()
                continue
            body = await self._request(scope, room, LONGEST_WAIT_SECONDS)
            answer = await self._asked(client, "/api/runner/claim", body, LONGEST_WAIT_SECONDS)
            for data in answer["runs"] if answer else ():
                await self._begin(client, records, Assignment.of_json(data))

    async def _begin(self, client: ServerClient, records: RemoteRecords, given: Assignment) -> None:
        if not await self._outbox.hold(given.run.id, self._leases.owner, client.url):
            return  # it has ended here, and the server does not know yet
        own = self._ctx.config.directories.get(given.run.project_id)
        if own is not None:
            given = replace(given, directory=self._ctx.home / own)
        records.begin(given.run)
        self._lives.begin(given, records, f"{client.url}/mcp")

    async def _watch(self, client: ServerClient, records: RemoteRecords) -> None:
        while True:
            if not len(self._lives):
                await self._lives.begun.wait()
            asked_at, silent = self._ctx.steady(), list(records.silent)
            body = {
                "owner": self._leases.owner,
                "wait_seconds": BEAT_SECONDS,
                "alive": silent,
            }
            answer = await self._asked(client, "/api/runner/watch", body, BEAT_SECONDS)
            if answer is not None:
                records.silent.difference_update(silent)
                records.hear(asked_at, answer["runs"])

    async def _asked(
        self, client: ServerClient, path: str, body: dict[str, Json], waits: float
    ) -> dict[str, Any] | None:
        """Ask; without an answer, wait a little."""
        try:
            return await client.ask(path, body, waits)
        except UnreachableError as error:
            logger.warning("the server does not answer (%s); tried again", error)
        except RefusedError as error:
            self._refuse(error)
        await anyio.sleep(_PAUSE_SECONDS)
        return None

    def _refuse(self, error: RefusedError) -> None:
        if self.refused is not None and not self.refused.done():
            self.refused.set_result(error)

    async def _send(self, client: ServerClient) -> None:
        while True:
            self._outbox.filled.clear()
            try:
                await self._send_all(client)
            except UnreachableError as error:
                logger.warning("reports wait: the server does not answer (%s)", error)
                await anyio.sleep(_PAUSE_SECONDS)
            else:
                with anyio.move_on_after(LONGEST_WAIT_SECONDS):
                    await self._outbox.filled.wait()

    async def _send_all(self, client: ServerClient) -> None:
        for held in await self._outbox.held():
            while held.server == client.url and (batch := await self._outbox.batch(held.run_id)):
                if not await self._deliver(client, held, batch):
                    break

    async def _deliver(
        self, client: ServerClient, held: HeldRun, batch: list[dict[str, Json]]
    ) -> bool:
        path = f"/api/runner/runs/{held.run_id}/reports"
        try:
            answer = await client.ask(path, {"owner": held.owner, "reports": batch})
        except RefusedError as error:
            if error.status == _UNAUTHORISED:
                self._refuse(error)  # with another token they can still be told
                return False
            logger.warning("reports of run %s are not wanted: %s", held.run_id, error)
            await self._outbox.forget(held.run_id)
            return False
        await self._outbox.told(held.run_id, int(answer["applied"]))
        return True

    async def _show_changes(self, records: RemoteRecords) -> None:
        while True:
            await anyio.sleep(_CHANGES_SECONDS)
            for run_id in self._lives.ids:
                await records.show_changes(run_id)
