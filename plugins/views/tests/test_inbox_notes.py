"""Items can be put off and left to others; neither answers them. And nothing is kept for ever."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.testing import running
from aipm_file_chat.plugin import FileChat
from aipm_sessions.plugin import Sessions
from aipm_sessions.testing import Team
from aipm_tasks.plugin import Tasks
from aipm_views.api import INBOX_NOTES, VIEWS, InboxNotes
from aipm_views.plugin import Views
from aipm_views.testing import Follower, check_fold_law

from aipm_core import CallError, iso

DAY = 86_400.0
NOW = 1_790_000_000.0


class Office:
    """A request for alice and bob, and a message for alice."""

    def __init__(self, aipm: Any, root: Path, times: list[float]) -> None:
        self.aipm = aipm
        self.team = Team(aipm, root)
        self.times = times
        self.views = aipm.runtime.services.use(VIEWS)
        self.notes: InboxNotes = aipm.runtime.services.use(INBOX_NOTES)

    async def furnish(self) -> None:
        await self.team.add_project("p")
        await self.team.add("worker")
        await self.team.add("alice", "bob", kind="human")
        session = await self.team.session("worker", "chat")
        self.task = (await session.does("request_task", title="wish"))["task_id"]
        sent = await session.does("send_message", target_agent_id="alice", content="hi")
        self.message = sent["message_id"]

    async def inbox(self, who: str) -> dict[str, Any]:
        return dict((await self.views.snapshot("p", who)).views["inbox"])

    async def refused(self, what: Any) -> tuple[str, int]:
        with pytest.raises(CallError) as error:
            await what
        return error.value.code, error.value.status


@asynccontextmanager
async def office() -> AsyncGenerator[Office]:
    times = [NOW]
    with tempfile.TemporaryDirectory() as root:
        plugins = (Sessions, Tasks, FileChat, Views)
        async with running(*plugins, clock=lambda: times[0]) as aipm:
            made = Office(aipm, Path(root), times)
            await made.furnish()
            yield made


async def test_a_snoozed_item_stays_and_says_until_when() -> None:
    async with office() as o:
        until = iso(NOW + 3600)
        await o.notes.snooze("alice", "p", o.task, until)
        assert (await o.inbox("alice"))[o.task]["snoozed_until"] == until
        assert (await o.inbox("bob"))[o.task]["snoozed_until"] is None
        await o.notes.snooze("alice", "p", o.task, "2026-09-21T17:00:00+02:00")
        assert (await o.inbox("alice"))[o.task]["snoozed_until"] == "2026-09-21T15:00:00.000Z"


@pytest.mark.parametrize("until", ["", "soon", iso(NOW), iso(NOW + 31 * DAY), "0001-01-01"])
async def test_a_moment_must_come(until: str) -> None:
    async with office() as o:
        refused = await o.refused(o.notes.snooze("alice", "p", o.task, until))
        assert refused == ("invalid_moment", 400)
        assert (await o.inbox("alice"))[o.task]["snoozed_until"] is None


async def test_an_item_is_left_to_somebody_and_can_come_back() -> None:
    async with office() as o:
        await o.notes.hand_over("alice", "p", o.task, "bob", "you know it better")
        assert o.task not in await o.inbox("alice")
        item = (await o.inbox("bob"))[o.task]
        assert (item["handed_over_by"], item["hand_over_note"]) == ("alice", "you know it better")
        await o.notes.hand_over("bob", "p", o.task, "alice")
        assert o.task not in await o.inbox("bob")
        assert (await o.inbox("alice"))[o.task]["handed_over_by"] == "bob"


async def test_a_block_that_names_one_person_can_be_left_to_another_until_it_is_over() -> None:
    async with office() as o:
        session = await o.team.session("worker", "task")
        task = (await session.does("create_task", title="paint"))["task"]["id"]
        item = f"blk_{task}"

        async def block() -> None:
            await session.does("update_task_status", task_id=task, status="in_progress")
            await session.does("update_task_status", task_id=task, status="blocked", reason="alice")

        await block()
        assert (item in await o.inbox("alice"), item in await o.inbox("bob")) == (True, False)
        await o.team.add("carol", kind="human")
        for giver, to in (("alice", "bob"), ("bob", "carol")):
            await o.notes.hand_over(giver, "p", item, to, "yours")
            assert item not in await o.inbox(giver)
            assert (await o.inbox(to))[item]["handed_over_by"] == giver
        o.times[0] += 60
        await block()
        assert (item in await o.inbox("alice"), item in await o.inbox("carol")) == (True, False)


async def test_who_leaves_the_project_leaves_what_was_handed_over_to_others() -> None:
    async with office() as o:
        await check_fold_law(o.aipm, [alice := Follower("alice")])
        await o.notes.hand_over("alice", "p", o.task, "bob")
        await check_fold_law(o.aipm, [alice])

        async def leave(tx: Any) -> None:
            await tx.run("delete from project_agents where agent_id = 'bob'")
            tx.wake("members:p")

        await o.team.store.write(leave)
        await check_fold_law(o.aipm, [alice])
        assert o.task in alice.views["inbox"]


async def test_what_cannot_be_handed_over_stays() -> None:
    async with office() as o:
        await o.team.add_project("q")
        await o.team.add("mallory", kind="human", project="q")
        give = o.notes.hand_over
        before = await o.team.rows("inbox_handovers")
        for who, item, to, code, status in (
            ("alice", o.task, "alice", "cannot_hand_over_to_self", 400),
            ("alice", o.task, "worker", "person_not_found", 404),
            ("alice", o.task, "mallory", "person_not_found", 404),
            ("alice", o.task, "nobody", "person_not_found", 404),
            ("alice", o.message, "bob", "item_is_personal", 409),
            ("bob", o.message, "alice", "item_not_found", 404),
            ("alice", "cnf_1", "bob", "item_not_found", 404),
            ("mallory", o.task, "alice", "project_not_found", 404),
        ):
            assert await o.refused(give(who, "p", item, to)) == (code, status)
        note = "n" * 1001
        assert await o.refused(give("alice", "p", o.task, "bob", note)) == ("note_too_long", 400)
        assert await o.team.rows("inbox_handovers") == before


async def test_a_reader_that_was_away_too_long_starts_anew_and_others_do_not() -> None:
    async with office() as o:
        away, here, late = Follower("alice"), Follower("alice"), Follower("bob")
        await check_fold_law(o.aipm, [away, here, late])
        await o.notes.hand_over("bob", "p", o.task, "alice")
        await check_fold_law(o.aipm, [here])
        o.times[0] += 25 * 3600
        assert await o.aipm.sweep("view_changes") > 0
        await o.notes.hand_over("alice", "p", o.task, "bob")
        await check_fold_law(o.aipm, [away, here])
        assert (away.resyncs, here.resyncs) == (1, 0)


async def test_a_project_nobody_looks_at_is_not_kept_and_comes_back() -> None:
    async with office() as o:
        await check_fold_law(o.aipm, [alice := Follower("alice")])
        o.times[0] += 8 * DAY
        assert await o.aipm.sweep("view_records") == 1
        for table in ("view_heads", "view_records", "view_changes", "view_marks"):
            assert await o.team.rows(table) == []
        session = await o.team.session("worker", "chat")
        await session.does("request_task", title="another wish")
        assert await o.team.rows("view_marks") == []
        await check_fold_law(o.aipm, [alice])
        assert (alice.resyncs, len(alice.views["inbox"])) == (1, 3)


async def test_notes_are_forgotten() -> None:
    async with office() as o:
        await o.notes.snooze("alice", "p", o.task, iso(NOW + 60))
        await o.notes.hand_over("alice", "p", o.task, "bob")
        await check_fold_law(o.aipm, [alice := Follower("alice")])
        o.times[0] += 31 * DAY
        assert await o.aipm.sweep("inbox_snoozes", "inbox_handovers") == 2
        await check_fold_law(o.aipm, [alice])
        assert alice.views["inbox"][o.task]["snoozed_until"] is None
