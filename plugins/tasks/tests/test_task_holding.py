"""What a block does to tasks below it that have not begun: it holds them, and lets them go."""

from collections.abc import Callable
from typing import Any

from aipm_tasks.holding import held_by
from aipm_tasks.views import TaskView
from aipm_views.plugin import Views
from aipm_views.testing import Follower, check_fold_law

Teams = Callable[..., Any]


async def shown(t: Any, *ids: str) -> dict[str, Any]:
    """Return who holds each of these tasks, as people see it."""
    records = await TaskView().read(t.store, "p", frozenset(ids) or None)
    return {one.id: one.data["held_by"] for one in records if one.data}


async def tree(t: Any) -> tuple[str, str, str, str]:
    """Make a task at work, one below it at work too, and two that have not begun."""
    root = await t.add("root", "in_progress", assignee_id="lead")
    middle = await t.add("middle", "in_progress", parent_task_id=root)
    todo = await t.add("todo", "todo", parent_task_id=middle, assignee_id="peer")
    backlog = await t.add("backlog", "backlog", parent_task_id=root)
    return root, middle, todo, backlog


async def test_a_block_holds_what_has_not_begun(team: Teams) -> None:
    async with team() as t:
        root, middle, todo, backlog = await tree(t)
        other = await t.add("other", "todo")
        assert set((await shown(t)).values()) == {None}
        await t.move(root, "blocked")
        # Middle was at work and is blocked itself: it is what stands nearest above the todo.
        held = {root: None, middle: None, todo: middle, backlog: root, other: None}
        assert await shown(t) == held
        assert await shown(t, todo, backlog) == {todo: middle, backlog: root}
        assert await held_by(t.store, "p") == {todo: middle, backlog: root}
        assert await held_by(t.store, "q") == {}


async def test_lifting_the_block_frees_them(team: Teams) -> None:
    async with team() as t:
        root, middle, todo, backlog = await tree(t)
        await t.move(root, "blocked")
        await t.move(root, "todo")
        assert await shown(t, backlog) == {backlog: None}
        assert await shown(t, todo) == {todo: middle}
        await t.move(middle, "todo")
        assert await shown(t, todo) == {todo: None}
        await t.move(root, "in_progress")
        await t.move(root, "blocked")
        assert set((await shown(t, todo, backlog, middle)).values()) == {root}
        await t.move(root, "cancelled")
        assert await held_by(t.store, "p") == {}


async def test_who_waits_for_a_held_task_hears_that_it_is_free(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "todo", assignee_id="lead")
        middle = await t.add("middle", "backlog", parent_task_id=root, assignee_id="lead")
        leaf = await t.add("leaf", "todo", parent_task_id=middle, assignee_id="peer")
        await t.move(root, "in_progress")
        await t.move(root, "blocked")
        session = await t.session("peer")
        assert (await t.next(session))["action"] == "wait_for_task"

        async def lift() -> None:
            await t.move(root, "todo")

        reply = await t.while_waiting(session, lift)
        assert (reply.result["action"], reply.result["task"]["id"]) == ("start_task", leaf)


async def test_a_change_above_is_told_for_every_task_below(team: Teams) -> None:
    async with team(Views) as t:
        root, _, todo, backlog = await tree(t)
        boss = Follower("boss")
        await check_fold_law(t.aipm, [boss])
        for status, holder in (("blocked", root), ("todo", None)):
            await t.move(root, status)
            await check_fold_law(t.aipm, [boss])
            assert boss.views["tasks"][backlog]["held_by"] == holder
        assert boss.views["tasks"][todo]["held_by"] is not None
        assert boss.resyncs == 0
