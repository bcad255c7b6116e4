"""Runs of this machine whose server is elsewhere: told through the outbox, seen by asking."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from aipm_core import Json, PluginContext
from aipm_runner.api import Answer, Evidence, State
from aipm_runner.changes import changed_text
from aipm_runner.config import RunnerConfig
from aipm_runner.git import GitFailed
from aipm_runner.guard import may_read_unjudged
from aipm_runner.leases import LOST_SECONDS
from aipm_runner.outbox import Outbox
from aipm_runner.problems import Problem
from aipm_runner.run_records import LogLine, Park, Place, RunSight, Usage
from aipm_runner.runner_messages import (
    ChangesReport,
    EndReport,
    LogReport,
    StateReport,
    UseReport,
)
from aipm_runner.runs import Outcome, Run
from aipm_runner.server_client import RefusedError, ServerClient, UnreachableError
from aipm_runner.working_copies import saved_state

_FENCE_SECONDS = LOST_SECONDS - 5  # who is not heard stops before somebody else begins
_JUDGE_SECONDS = 3600.0  # a person may be asked
_MOST_CHANGES = 300_000  # characters


class RemoteRecords:
    """What the server knows is as old as the last answer; who gets none for long stops."""

    def __init__(
        self, ctx: PluginContext[RunnerConfig], client: ServerClient, outbox: Outbox, owner: str
    ) -> None:
        self._ctx = ctx
        self._client = client
        self._outbox = outbox
        self._owner = owner
        self._sights: dict[str, RunSight] = {}
        self._since: dict[str, float] = {}
        self._places: dict[str, Place] = {}
        self._shown: dict[str, str] = {}
        self._heard = ctx.steady()
        self._news = asyncio.Event()
        self.silent: set[str] = set()
        """Runs whose session is to be kept, though it does not call."""

    def begin(self, run: Run) -> None:
        """Know a run from now on."""
        if not self._since:
            self._heard = self._ctx.steady()
        self._sights[run.id] = RunSight(state=run.state, ended=False, session_open=True)
        self._since[run.id] = self._ctx.steady()

    def forget(self, run_id: str) -> None:
        """Know a run no more."""
        for known in (self._sights, self._since, self._places, self._shown):
            known.pop(run_id, None)

    def hear(self, asked_at: float, runs: dict[str, Any]) -> None:
        """Take in an answer of the server to a question of that moment."""
        self._heard = asked_at
        for run_id, since in self._since.items():
            if since > asked_at:
                continue  # the question was older than what is known
            told = runs.get(run_id)
            self._sights[run_id] = RunSight(**told) if told else RunSight()
        self._news.set()
        self._news = asyncio.Event()

    async def enter(
        self, run_id: str, state: State, evidence: Evidence, *, waits_for: str | None = None
    ) -> None:
        """Note a new state of a run that has not ended."""
        known = self._sights.get(run_id)
        if known is not None:
            self._sights[run_id] = replace(known, state=state, evidence=evidence)
        report = {"state": state, "evidence": evidence, "waits_for": waits_for}
        await self._outbox.put(run_id, StateReport.model_validate(report).model_dump())

    async def take(self, run_id: str, place: Place) -> bool:
        """Write down where a run works; ``False`` while another run works there."""
        await self._outbox.place(run_id, place.workspace, place.repository)
        self._places[run_id] = place
        body = {"owner": self._owner, **asdict(place)}
        answer = await self._insist(f"/api/runner/runs/{run_id}/place", body)
        return bool(answer["taken"])

    async def open_session(self, run: Run) -> tuple[str, str]:
        """Open the session of a run; return its id and its token. Raises ``Problem``."""
        path = f"/api/runner/runs/{run.id}/session"
        answer = await self._insist(path, {"owner": self._owner})
        self._since[run.id] = self._ctx.steady()
        return answer["session_id"], answer["token"]

    async def _insist(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._client.insist(path, body)
        except RefusedError as error:
            raise Problem("config_missing", "as_told", reason=str(error).rstrip(".")) from None

    async def see(self, run_id: str) -> RunSight:
        """Return what is known of a run now."""
        if self._ctx.steady() - self._heard > _FENCE_SECONDS:
            return RunSight()
        return self._sights.get(run_id, RunSight())

    async def wait(self, run_id: str, seconds: float, *, any_run: bool = False) -> None:
        """Wait until a run, or any run, may have changed, or for so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)

    async def keep_session(self, run_id: str) -> None:
        """Note that the program of a session that does not call is alive."""
        self.silent.add(run_id)

    async def judge(self, run_id: str, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Ask the server whether a run's program may use a tool of its own; without one: no."""
        body = {"owner": self._owner, "tool": tool, "arguments": dict(arguments)}
        path = f"/api/runner/runs/{run_id}/native"
        reads = may_read_unjudged(self._ctx.config, tool)
        asking = self._client.ask if reads else self._client.insist
        try:
            told = await asking(path, body, _JUDGE_SECONDS)
        except UnreachableError:
            return Answer(
                allowed=reads, text="" if reads else self._ctx.texts("guard.not_judged", tool=tool)
            )
        except RefusedError as error:
            return Answer(allowed=False, text=str(error))
        return Answer(allowed=bool(told["allowed"]), text=str(told["text"]))

    async def write_log(self, run_id: str, lines: Sequence[LogLine]) -> None:
        """Add lines to a run's log; a line that is there stays."""
        await self._outbox.put(run_id, LogReport(lines=list(lines)).model_dump(mode="json"))

    async def use(self, run_id: str, usage: Usage) -> None:
        """Note what a run has used."""
        await self._outbox.put(run_id, UseReport(**asdict(usage)).model_dump())

    async def show_changes(self, run_id: str, commit: str | None = None) -> None:
        """Tell what a run has changed, if it is not what was told last."""
        place = self._places.get(run_id)
        if place is None or place.repository is None or place.base is None:
            return
        with suppress(GitFailed, OSError):
            now = commit or await saved_state(Path(place.workspace))
            text = await changed_text(Path(place.repository), place.base, now)
            if text != self._shown.get(run_id, ""):
                self._shown[run_id] = text
                report = ChangesReport(text=text[:_MOST_CHANGES])
                await self._outbox.put(run_id, report.model_dump())

    async def park(self, run_id: str, park: Park) -> bool:
        """A run of another machine is not parked: it ends, and its conversation goes on later."""
        return False

    async def end(self, run_id: str, outcome: Outcome) -> None:
        """End a run and its session, if it has not ended."""
        if outcome.snapshot is not None:
            await self.show_changes(run_id, outcome.snapshot)
        await self._outbox.put(run_id, EndReport(**asdict(outcome)).model_dump())
        self.forget(run_id)
