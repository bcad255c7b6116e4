"""Runs that wait for people: what failed too often, or lacks what only a person can give."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY
from aipm_views.api import InboxItem, InboxSource, ItemAction

from aipm_core import Json, PluginContext, Reader
from aipm_runner.config import RunnerConfig
from aipm_runner.runs import FORGIVEN, LEFT_ALONE, Run, run_of
from aipm_runner.start_states import WORK_TOPICS, StartState, StartStates


class FailedRunItems:
    """Every person of the project may answer; the first answer is for all."""

    def __init__(self, ctx: PluginContext[RunnerConfig], states: StartStates) -> None:
        self._ctx = ctx
        self._states = states
        self._directory = ctx.services.use(DIRECTORY)

    def source(self) -> InboxSource:
        """Return it."""
        return InboxSource(name="runs", topics=WORK_TOPICS, items=self._items)

    async def _items(self, db: Reader, project_id: str) -> Iterable[InboxItem]:
        asking = [
            one
            for one in await self._states.of_project(db, project_id)
            if one.state == "asks" and one.run and one.run["forgiven"] not in (FORGIVEN, LEFT_ALONE)
        ]
        if not asking:
            return []
        members = await self._directory.members(db, project_id)
        persons = frozenset(member.id for member in members if member.kind == "human")
        return [self._item(one, run_of(one.run), persons) for one in asking if one.run]

    def _item(self, state: StartState, run: Run, persons: frozenset[str]) -> InboxItem:
        texts = self._ctx.texts
        again: dict[str, Json] = {
            "project_id": run.project_id,
            "agent_id": run.agent_id,
            "purpose": run.purpose,
        }
        this: dict[str, Json] = {"project_id": run.project_id, "run_id": run.id}
        stopped = run.end_reason == "stopped_by_person"
        return InboxItem(
            id=run.id,
            kind="run",
            since=run.ended_at or run.since,
            persons=persons,
            title=texts("inbox.stopped" if stopped else "inbox.title", agent=run.agent_id),
            detail=run.detail or texts("ends.fruitless"),
            level="INFO" if stopped else "WARN",
            agent_id=run.agent_id,
            task_id=run.task_id,
            actions=(
                ItemAction(name="leave", tool="leave_run", arguments=this),
                ItemAction(name="start", tool="start_run", arguments=again),
            ),
            more={
                "run_id": run.id,
                "purpose": run.purpose,
                "program": run.program,
                "end_reason": run.end_reason,
                "failures": state.failures,
                "advice": texts(f"advice.{_advice(run)}"),
            },
        )


def _advice(run: Run) -> str:
    return "fruitless" if run.end_reason == "ok" else str(run.end_reason)
