"""Fields of agents that other plugins keep: this plugin only passes them on."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_core import CallError, Json, PluginContext, Tx
from aipm_sessions.api import SessionHooks
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory, missing


class CollectedAgentFields:
    """Everything plugins gave to ``aipm_agent_fields``."""

    def __init__(self, ctx: PluginContext[SessionsConfig], directory: SqlDirectory) -> None:
        self._ctx = ctx
        self._directory = directory

    def check(self, values: Mapping[str, Json]) -> None:
        """Refuse values that cannot be, and fields that no plugin keeps."""
        given = [owned.record for owned in self._ctx.given(SessionHooks.aipm_agent_fields)]
        known = {field for one in given for field in one.fields}
        if unknown := [name for name in values if name not in known]:
            raise CallError(
                f"no plugin that is on keeps {', '.join(unknown)} of agents",
                code="unknown_field",
                status=400,
            )
        for one in given:
            one.check({name: values[name] for name in one.fields if name in values})

    async def edit(self, agent_id: str, values: Mapping[str, Json]) -> None:
        """Set some fields of an agent."""
        self.check(values)
        await self._ctx.store.write(lambda tx: self.change(tx, agent_id, values))

    async def change(self, tx: Tx, agent_id: str, values: Mapping[str, Json]) -> None:
        """Set some fields of an agent inside a transaction; they were checked before."""
        if await self._directory.agent(tx, agent_id) is None:
            raise missing("agent", agent_id)
        for owned in self._ctx.given(SessionHooks.aipm_agent_fields):
            chosen = {name: values[name] for name in owned.record.fields if name in values}
            if chosen:
                await owned.record.change(tx, agent_id, chosen)
