"""What authors see and order: whether a tool ran, who comes last in a phase, changed tasks."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from aipm_devkit.testing import running
from aipm_sessions.plugin import Sessions
from aipm_tasks.api import TASKS, NewTask, TaskChange, TaskObserver
from aipm_tasks.plugin import Tasks

from aipm_core import (
    Access,
    AnyTool,
    Call,
    CallError,
    CallWrapper,
    Carry,
    Json,
    NoArguments,
    Phase,
    Plugin,
    PluginContext,
    Reply,
    Request,
    ResponseMiddleware,
    Session,
    Tx,
    hookimpl,
    tool,
)


class Watched(Plugin):
    """Notes how every call went."""

    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.seen: list[tuple[str, str, bool]] = []

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.works, access=Access.ANYONE)
        yield tool(self.refuses, access=Access.ANYONE)
        yield tool(self.breaks, access=Access.ANYONE)
        yield tool(self.for_managers, access=Access.MANAGER)

    async def works(self, call: Call, args: NoArguments) -> Json:
        """Work."""

    async def refuses(self, call: Call, args: NoArguments) -> Json:
        """Refuse."""
        raise CallError("no", code="no", status=409)

    async def breaks(self, call: Call, args: NoArguments) -> Json:
        """Break."""
        raise ZeroDivisionError

    async def for_managers(self, call: Call, args: NoArguments) -> Json:
        """Never come so far."""

    @hookimpl
    def aipm_call_wrappers(self) -> Iterable[CallWrapper]:
        yield CallWrapper(name="watch", wrap=self._wrap)

    def _wrap(self, carry: Carry) -> Carry:
        async def watched(request: Request) -> Reply:
            reply = await carry(request)
            self.seen.append((request.tool, reply.outcome, reply.ran))
            return reply

        return watched


async def test_a_refusal_is_told_from_an_error_of_the_tool() -> None:
    async with running(Watched) as aipm:
        for name in ("works", "refuses", "breaks", "for_managers", "unknown"):
            await aipm.call(name)
        await aipm.call("works", nonsense=1)
        (watched,) = [p for p in aipm.runtime.manager.get_plugins() if isinstance(p, Watched)]
    assert watched.seen == [
        ("works", "ok", True),
        ("refuses", "no", True),
        ("breaks", "internal_error", True),
        ("for_managers", "manager_required", False),
        ("unknown", "tool_not_found", False),
        ("works", "invalid_arguments", False),
    ]


def middleware(order: int) -> type[Plugin]:
    class Marking(Plugin):
        @hookimpl
        def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
            yield ResponseMiddleware(
                name="mark", apply=self._mark, phase=Phase.GUARD, on_error="fail", order=order
            )

        async def _mark(self, request: Request, session: Session | None, reply: Reply) -> Reply:
            return reply.with_field("order", [*reply.fields.get("order", []), order])

    Marking.__name__ = f"Plugin{chr(ord('a') + 5 - order)}"  # the alphabet says the opposite
    return Marking


async def test_within_a_phase_the_order_decides() -> None:
    async with running(Watched, *map(middleware, (3, 1, 2))) as aipm:
        assert (await aipm.call("works")).fields["order"] == [1, 2, 3]


class Observing(Plugin):
    """Hears of every change of a task, and may forbid it."""

    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.heard: list[tuple[str, str, str | None]] = []

    @hookimpl(optionalhook=True)
    def aipm_task_observers(self) -> Iterable[TaskObserver]:
        yield TaskObserver(name="observing", changed=self._changed)

    async def _changed(self, tx: Tx, change: TaskChange) -> None:
        self.heard.append((change.what, change.task.status, change.previous))
        if change.reason == "never":
            raise CallError("not with me", code="forbidden_here", status=409)


async def test_a_task_that_changes_is_told_in_its_transaction(tmp_path: Path) -> None:
    async with running(Sessions, Tasks, Observing, data_dir=tmp_path) as aipm:
        await aipm.runtime.store.write(
            lambda tx: tx.run("insert into projects (id, name, created_at) values ('p', 'P', '')")
        )
        tasks = aipm.runtime.services.use(TASKS)
        task = await tasks.add(NewTask(project_id="p", title="t", actor_id="operator"))
        await tasks.move(task.id, "in_progress", None)
        with pytest.raises(CallError, match="not with me"):
            await tasks.move(task.id, "blocked", "never")
        assert (await tasks.get(task.id))[0].status == "in_progress"
        (observing,) = [p for p in aipm.runtime.manager.get_plugins() if isinstance(p, Observing)]
    assert observing.heard == [
        ("created", "backlog", None),
        ("status", "in_progress", "backlog"),
        ("status", "blocked", "in_progress"),
    ]
