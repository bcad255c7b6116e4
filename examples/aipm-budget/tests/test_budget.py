from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
from aipm_budget.plugin import Budget

from aipm_core import Access, AnyTool, Call, Json, NoArguments, Plugin, hookimpl, tool


class Work(Plugin):
    """Something to call."""

    @hookimpl
    def aipm_tools(self) -> list[AnyTool]:
        return [tool(self.work, access=Access.SESSION)]

    async def work(self, call: Call, args: NoArguments) -> Json:
        """Work."""
        await anyio.lowlevel.checkpoint()


async def test_of_many_calls_at_once_exactly_the_budget_runs(
    aipm_runtime: Callable[..., Any],
) -> None:
    settings = {"budget": {"calls_a_day": 10}}
    outcomes: list[str] = []
    async with aipm_runtime(Work, Budget, settings=settings) as aipm:

        async def call() -> None:
            outcomes.append((await aipm.call("work")).outcome)

        async with anyio.create_task_group() as calls:
            for _ in range(40):
                calls.start_soon(call)
        left = await aipm.call("budget_left")
    assert sorted(outcomes) == ["budget_used_up"] * 30 + ["ok"] * 10
    assert left.result == {"left": 0}


async def test_a_refused_call_costs_nothing(aipm_runtime: Callable[..., Any]) -> None:
    async with aipm_runtime(Work, Budget) as aipm:
        assert (await aipm.call("work", more=1)).error.code == "invalid_arguments"
        assert (await aipm.call("budget_left")).result == {"left": 1000}


def test_people_see_it_with_a_command_once_it_is_on(aipm_team: Callable[..., Any]) -> None:
    team = aipm_team("worker-1", toml="[plugins.budget]\n")
    team.agent("worker-1").call("list_tasks")
    (row,) = team.started.install.json("budget")
    assert (row["agent_id"], row["calls"]) == ("worker-1", 1)
