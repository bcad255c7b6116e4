"""What a runner on another machine still has to tell: on its disk before it is on its way.

A report has a number in its run. The server takes the numbers in order and each once, so that one
whose answer got lost is sent again, and can only be late.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass

from aipm_core import Json, Tx
from aipm_runner.runner_messages import MOST_REPORTS
from aipm_runner.runs import Runs

_MOST_BYTES = 400_000  # of one request; a single report may be more
_BATCH = "select step, body from run_reports where run_id = ? order by step limit ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """A run of this machine that the server has not been told the end of."""

    run_id: str
    owner: str
    server: str
    over: bool
    workspace: str | None
    repository: str | None


class Outbox:
    """Reads and writes ``held_runs`` and ``run_reports`` of this machine's own store."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.filled = asyncio.Event()
        """Set when there is something to send."""

    async def hold(self, run_id: str, owner: str, server: str) -> bool:
        """Note that a run is this machine's from now on; ``False`` if it is already."""

        async def unit(tx: Tx) -> bool:
            added = await tx.run(
                "insert into held_runs (run_id, owner, server) values (?, ?, ?) "
                "on conflict (run_id) do nothing",
                *(run_id, owner, server),
            )
            return added == 1

        return await self._runs.write(unit)

    async def place(self, run_id: str, workspace: str, repository: str | None) -> None:
        """Note where a run works, to find it after a crash."""

        async def unit(tx: Tx) -> None:
            sql = "update held_runs set workspace = ?, repository = ? where run_id = ?"
            await tx.run(sql, workspace, repository, run_id)

        await self._runs.write(unit)

    async def put(self, run_id: str, report: Mapping[str, Json]) -> None:
        """Keep a report until the server has it. After the end of a run nothing more is told."""

        async def unit(tx: Tx) -> None:
            row = await tx.one("select step, over from held_runs where run_id = ?", run_id)
            if row is None or row["over"]:
                return
            step = int(row["step"]) + 1
            await tx.run(
                "insert into run_reports (run_id, step, body) values (?, ?, ?)",
                *(run_id, step, json.dumps(report)),
            )
            over = int(report["kind"] == "end")
            sql = "update held_runs set step = ?, over = ? where run_id = ?"
            await tx.run(sql, step, over, run_id)

        await self._runs.write(unit)
        self.filled.set()

    async def held(self) -> list[HeldRun]:
        """List the runs the server has to be told of, oldest first."""
        rows = await self._runs.reader.all(
            "select * from held_runs order by run_id limit 1000",
        )
        return [
            HeldRun(
                run_id=row["run_id"],
                owner=row["owner"],
                server=row["server"],
                over=bool(row["over"]),
                workspace=row["workspace"],
                repository=row["repository"],
            )
            for row in rows
        ]

    async def batch(self, run_id: str) -> list[dict[str, Json]]:
        """Return what is to be sent next of a run, as much as fits into a request."""
        found: list[dict[str, Json]] = []
        size = 0
        for row in await self._runs.reader.all(_BATCH, run_id, MOST_REPORTS):
            size += len(row["body"])
            if found and size > _MOST_BYTES:
                break
            found.append({"step": row["step"], "report": json.loads(row["body"])})
        return found

    async def told(self, run_id: str, step: int) -> None:
        """Forget what the server has; forget a run whose end it has."""

        async def unit(tx: Tx) -> None:
            sql = "delete from run_reports where run_id = ? and step <= ?"
            await tx.run(sql, run_id, step)
            sql = "delete from held_runs where run_id = ? and over = 1 and step <= ?"
            await tx.run(sql, run_id, step)

        await self._runs.write(unit)

    async def forget(self, run_id: str) -> None:
        """Forget a run that the server does not know any more."""

        async def unit(tx: Tx) -> None:
            await tx.run("delete from run_reports where run_id = ?", run_id)
            await tx.run("delete from held_runs where run_id = ?", run_id)

        await self._runs.write(unit)
