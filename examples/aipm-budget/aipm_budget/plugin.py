"""Holds every agent to a number of calls a day, however many it makes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextvars import ContextVar

from pydantic import Field

from aipm_core import (
    Access,
    AnyTool,
    Authorizer,
    Call,
    CallWrapper,
    Carry,
    Json,
    Migration,
    NoArguments,
    Plugin,
    PluginConfig,
    PluginContext,
    Reply,
    Request,
    Stage,
    Trait,
    hookimpl,
    tool,
)

_reserved: ContextVar[list[str] | None] = ContextVar("reserved", default=None)
_COUNT = (
    "insert into budget_calls (agent_id, day, calls) values (?, ?, 1) "
    "on conflict (agent_id, day) do update set calls = budget_calls.calls + 1"
)


class BudgetConfig(PluginConfig):
    """Settings of ``[plugins.budget]``."""

    calls_a_day: int = Field(default=1000, ge=1)


class Budget(Plugin[BudgetConfig]):
    """Refuses calls over the day's number; what only leads out stays open."""

    aipm_api = 1
    config_model = BudgetConfig

    def __init__(self, ctx: PluginContext[BudgetConfig]) -> None:
        super().__init__(ctx)
        self._running: Counter[str] = Counter()

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        columns = "agent_id text, day text, calls integer, primary key (agent_id, day)"
        yield Migration(name="0001_calls", sql=f"create table budget_calls ({columns});")

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        traits = (Trait.WAY_OUT,)
        yield tool(self.budget_left, access=Access.SESSION, read_only=True, traits=traits)

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="budget", check=self._check, stage=Stage.STATE)

    @hookimpl
    def aipm_call_wrappers(self) -> Iterable[CallWrapper]:
        yield CallWrapper(name="budget", wrap=self._counting)

    async def used(self, agent_id: str) -> int:
        """Return how many calls of an agent ran today."""
        sql = "select calls from budget_calls where agent_id = ? and day = ?"
        row = await self.ctx.store.one(sql, agent_id, self.ctx.now()[:10])
        return int(row["calls"]) if row else 0

    async def budget_left(self, call: Call, args: NoArguments) -> Json:
        """Return how many calls are left today."""
        return {"left": max(0, self.ctx.config.calls_a_day - await self.used(call.caller.agent_id))}

    async def _check(self, call: Call) -> None:
        """Refuse, or take a place among the running calls; no call comes between the two lines."""
        held = _reserved.get()
        if call.session is None or call.session.purpose == "ui" or held is None:
            return
        if Trait.WAY_OUT in call.tool.traits:
            return
        agent, used = call.session.agent_id, await self.used(call.session.agent_id)
        if agent in held:
            return  # asked again after a person's yes
        if used + self._running[agent] >= self.ctx.config.calls_a_day:
            raise self.ctx.refuse("budget_used_up", 429, calls=self.ctx.config.calls_a_day)
        self._running[agent] += 1
        held.append(agent)

    def _counting(self, carry: Carry) -> Carry:
        async def counted(request: Request) -> Reply:
            held: list[str] = []
            token = _reserved.set(held)
            try:
                reply = await carry(request)
                if reply.ran:  # not a refusal of some check
                    for agent in held:
                        day = self.ctx.now()[:10]
                        await self.ctx.store.write(
                            lambda tx, agent=agent, day=day: tx.run(_COUNT, agent, day)  # type: ignore[misc]
                        )
                return reply
            finally:
                _reserved.reset(token)
                self._running.subtract(held)

        return counted
