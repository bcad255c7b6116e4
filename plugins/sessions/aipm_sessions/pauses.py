"""Pausing whole projects: their agents stop at their next call and go on after the resume."""

from __future__ import annotations

from aipm_core import Call, PluginContext, Trait, Tx
from aipm_sessions.api import project_topic
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory, missing

_STILL_OPEN = frozenset({Trait.WAY_OUT, Trait.OPEN_TO_THE_LEAVING, Trait.WAITS})
_IS_PAUSED = "select 1 from project_pauses where project_id = ?"


class ProjectPauses:
    """Which projects are paused, since when and by whom."""

    def __init__(self, ctx: PluginContext[SessionsConfig], directory: SqlDirectory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def set_paused(self, project_id: str, *, paused: bool, by: str) -> bool:
        """Pause or resume a project; return whether that changed anything."""
        return await self._ctx.store.write(
            lambda tx: self.change(tx, project_id, paused=paused, by=by)
        )

    async def change(self, tx: Tx, project_id: str, *, paused: bool, by: str) -> bool:
        """Pause or resume a project inside a transaction."""
        if await self._directory.project(tx, project_id) is None:
            raise missing("project", project_id)
        tx.wake(project_topic(project_id), f"sessions:{project_id}")
        if not paused:
            return await tx.run("delete from project_pauses where project_id = ?", project_id) == 1
        changed = await tx.run(
            "insert into project_pauses (project_id, since, paused_by) values (?, ?, ?) "
            "on conflict do nothing",
            *(project_id, self._ctx.now(), by),
        )
        return changed == 1

    async def check(self, call: Call) -> None:
        """Refuse what an agent of a paused project calls, unless it waits, reports or leaves."""
        session = call.caller
        if session.kind != "ai" or not _STILL_OPEN.isdisjoint(call.tool.traits):
            return
        if await self._ctx.store.one(_IS_PAUSED, session.project_id) is not None:
            raise self._ctx.refuse("project_paused", 409)
