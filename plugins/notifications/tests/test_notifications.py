"""What an agent sees of its inbox on every call, and who sees whose."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_notifications.api import INBOX, inbox_topic
from aipm_notifications.plugin import Notifications
from aipm_notifications.sweeper import Sweeper

from aipm_core import Access, AnyTool, Arguments, Call, CallError, Json, Plugin, Reply, Tx, hookimpl
from aipm_core import tool as make_tool
from aipm_core.clock import Clock, system_clock
from aipm_core.testing import CHAT, TASK, TestRuntime, running
from aipm_core.texts import Texts

NONE = "通知はありません"
UNREAD = "【重要】通知があります。get_notifications を呼び出して確認してください。"
REPLACED = (
    "通知があります。\n\n1. get_notifications() を呼び出して詳細を確認してください\n"
    "2. 通知の指示に従ってください"
)


class Echo(Arguments):
    text: str = ""
    fail: bool = False
    wait_seconds: float = 0


class Probe(Plugin):
    """A tool that counts how often it ran and can wait as every long poll does."""

    offers = ("echo", "logout", "report_completed")

    def __init__(self, ctx: Any) -> None:
        super().__init__(ctx)
        self.runs: list[str] = []

    @hookimpl
    def aipm_tools(self) -> list[AnyTool]:
        return [
            make_tool(self.echo, access=Access.ANYONE),
            make_tool(self.logout, access=Access.SESSION),
            make_tool(self.report_completed, access=Access.TASK),
        ]

    async def echo(self, call: Call, args: Echo) -> Json:
        """Say it again."""
        self.runs.append(args.text)
        if args.wait_seconds:
            inbox = self.ctx.services.find(INBOX)
            session = call.caller

            async def look() -> bool | None:
                assert inbox is not None
                return await inbox.interrupted(self.ctx.store, session) or None

            topic = inbox_topic(session.project_id, session.agent_id)
            await self.ctx.store.wait_until((topic,), look, args.wait_seconds)
        if args.fail:
            raise CallError("no", code="refused", status=409)
        return {"text": args.text}

    async def logout(self, call: Call, args: Echo) -> Json:
        """End."""
        return {"success": True}

    async def report_completed(self, call: Call, args: Echo) -> Json:
        """Report."""
        return {"success": True}


class Desk:
    """A runtime with the probe, and short ways to leave and read notifications."""

    def __init__(self, aipm: TestRuntime) -> None:
        self.aipm = aipm
        self.call = aipm.call

    async def put(self, kind: str = "interrupt", **more: Any) -> str:
        inbox = self.aipm.runtime.services.use(INBOX)
        fields = {"agent_id": "agent-a", "project_id": "p", "message": "m", "type": kind, **more}
        return str(await self.aipm.runtime.store.write(lambda tx: inbox.put(tx, **fields)))

    async def read(self, session: Any = TASK, **more: Any) -> dict[str, Any]:
        reply = await self.aipm.call("get_notifications", session, **more)
        assert isinstance(reply.result, dict)
        return reply.result

    async def ids(self, session: Any = TASK, **more: Any) -> list[str]:
        return [n["id"] for n in (await self.read(session, **more))["notifications"]]


@asynccontextmanager
async def desk(
    data_dir: Path | None = None, clock: Clock = system_clock, locale: Any = "ja", **config: Any
) -> AsyncGenerator[Desk]:
    async with running(
        Notifications, Probe, data_dir=data_dir, clock=clock, locale=locale, notifications=config
    ) as aipm:
        yield Desk(aipm)


def notice(reply: Reply) -> Any:
    return reply.envelope().get("notification")


async def test_every_reply_of_a_session_carries_the_field() -> None:
    async with desk() as d:
        assert notice(await d.call("echo", TASK)) == NONE
        assert notice(await d.call("echo", TASK, fail=True)) == NONE
        assert notice(await d.call("echo", TASK, wrong=1)) == NONE
        assert notice(await d.call("nothing", TASK)) == NONE
        assert "notification" not in (await d.call("echo", None)).envelope()
        assert "notification" not in (await d.aipm.call_with_token("echo", "bad")).envelope()


async def test_an_ordinary_notification_is_announced_until_it_is_read() -> None:
    async with desk() as d:
        left = await d.put("message", message="見てください")
        reply = await d.call("echo", TASK, text="x")
        assert reply.result == {"text": "x"}
        assert notice(reply) == UNREAD
        assert notice(await d.call("echo", TASK, fail=True)) == UNREAD
        reply = await d.call("get_notifications", TASK)
        assert notice(reply) == NONE
        (item,) = reply.result["notifications"]
        assert item["id"] == left
        assert (item["type"], item["action"], item["message"]) == ("message", None, "見てください")
        assert "get_next_action()" in item["instruction"]
        assert "task_id" not in item
        assert reply.result["withheld_results"] == []
        assert await d.ids() == []
        assert notice(await d.call("echo", TASK)) == NONE


async def test_no_tool_runs_while_an_interrupt_is_unread() -> None:
    async with desk() as d:
        await d.put(action="blocked", task_id="tsk_1")
        for _ in range(2):
            assert await d.call("echo", TASK, text="x") == Reply(replaced=REPLACED)
        assert await d.call("nothing", TASK) == Reply(replaced=REPLACED)
        assert await d.call("echo", TASK, wrong=1) == Reply(replaced=REPLACED)
        found = await d.read()
        assert found["notifications"][0]["task_id"] == "tsk_1"
        assert 'report_completed(result="blocked")' in found["notifications"][0]["instruction"]
        assert found["withheld_results"] == []
        reply = await d.call("echo", TASK, text="y")
        assert (reply.result, notice(reply)) == ({"text": "y"}, NONE)


@pytest.mark.parametrize("tool", ["logout", "report_completed"])
async def test_exempt_tools_run_and_say_that_something_is_unread(tool: str) -> None:
    async with desk() as d:
        await d.put(action="cancel")
        reply = await d.call(tool, TASK)
        assert (reply.result, notice(reply)) == ({"success": True}, UNREAD)


async def test_reading_without_marking_changes_nothing() -> None:
    async with desk() as d:
        left = await d.put(action="pause")
        for _ in range(2):
            reply = await d.call("get_notifications", TASK, mark_as_read=False)
            assert [n["id"] for n in reply.result["notifications"]] == [left]
            assert notice(reply) == UNREAD
        assert (await d.call("echo", TASK)).replaced == REPLACED
        assert await d.ids() == [left]
        assert await d.ids() == []


async def test_newest_first_and_in_pages() -> None:
    async with desk() as d:
        left = [await d.put("message", message=str(n)) for n in range(60)]
        first = await d.read()
        assert [n["id"] for n in first["notifications"]] == left[:9:-1]
        assert first["has_more"] is True
        second = await d.read()
        assert [n["id"] for n in second["notifications"]] == left[9::-1]
        assert "has_more" not in second


OTHERS = [
    replace(TASK, id="s-b", agent_id="agent-b"),
    replace(TASK, id="s-q", project_id="q"),
    CHAT,
]


@pytest.mark.parametrize("other", OTHERS, ids=["agent", "project", "purpose"])
async def test_others_are_not_touched(other: Any) -> None:
    async with desk() as d:
        left = await d.put(action="cancel", audience="task")
        assert notice(await d.call("echo", other)) == NONE
        assert await d.ids(other) == []
        assert await d.ids(TASK) == [left]


async def test_without_audience_whoever_asks_first_gets_it() -> None:
    async with desk() as d:
        left = await d.put("message")
        assert notice(await d.call("echo", CHAT)) == notice(await d.call("echo", TASK)) == UNREAD
        assert await d.ids(CHAT) == [left]
        assert notice(await d.call("echo", TASK)) == NONE


async def test_a_refused_unit_leaves_no_notification() -> None:
    async with desk() as d:
        inbox = d.aipm.runtime.services.use(INBOX)

        async def unit(tx: Tx) -> None:
            await inbox.put(tx, agent_id="agent-a", project_id="p", type="interrupt", message="m")
            raise CallError("no", code="no", status=400)

        with pytest.raises(CallError):
            await d.aipm.runtime.store.write(unit)
        assert notice(await d.call("echo", TASK)) == NONE


async def interrupt_during(d: Desk, *, session: Any = TASK, **arguments: Any) -> Reply:
    """Call echo, and interrupt it while it waits."""
    replies: list[Reply] = []

    async def call() -> None:
        replies.append(await d.call("echo", session, wait_seconds=60.0, **arguments))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert not replies
        await d.put(action="cancel", audience=session.purpose)
    return replies[0]


async def test_an_interrupt_ends_a_wait_and_its_result_is_kept() -> None:
    async with desk() as d:
        assert await interrupt_during(d, text="done") == Reply(replaced=REPLACED)
        peek = await d.read(mark_as_read=False)
        found = await d.read()
        assert peek == found
        (result,) = found["withheld_results"]
        at, digest = result.pop("at"), result.pop("arguments_digest")
        assert result == {"tool": "echo", "ok": True, "result": {"text": "done"}}
        assert at.endswith("Z")
        canonical = b'{"text":"done","wait_seconds":60.0}'
        assert digest == hashlib.sha256(canonical).hexdigest()
        assert (await d.read())["withheld_results"] == []


async def test_the_failure_of_an_interrupted_call_is_kept_too() -> None:
    async with desk() as d:
        assert (await interrupt_during(d, fail=True)).replaced == REPLACED
        (result,) = (await d.read())["withheld_results"]
        assert result["ok"] is False
        assert result["result"] == {"code": "refused", "status": 409, "message": "no"}


async def test_a_withheld_result_goes_to_its_own_kind_of_session_only() -> None:
    async with desk() as d:
        await interrupt_during(d, text="mine", session=CHAT)
        assert (await d.read(TASK))["withheld_results"] == []
        for other in OTHERS[:2]:
            assert (await d.read(other))["withheld_results"] == []
        assert len((await d.read(CHAT))["withheld_results"]) == 1


async def test_withheld_results_survive_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as d:
        await interrupt_during(d, text="kept")
    async with desk(tmp_path) as d:
        assert (await d.call("echo", TASK)).replaced == REPLACED
        assert (await d.read())["withheld_results"][0]["result"] == {"text": "kept"}
        assert (await d.read())["withheld_results"] == []


async def test_what_cannot_be_kept_is_delivered() -> None:
    async with desk() as d:
        await d.aipm.runtime.store.write(lambda tx: tx.run("drop table withheld_results"))
        reply = await interrupt_during(d, text="not lost")
        assert reply.result == {"text": "not lost"}
        assert notice(reply) == UNREAD
        assert (await d.call("echo", TASK)).replaced == REPLACED


async def test_what_is_too_large_to_keep_is_delivered() -> None:
    async with desk() as d:
        text = "x" * (2 * 1024 * 1024)
        reply = await interrupt_during(d, text=text)
        assert reply.result == {"text": text}
        assert notice(reply) == UNREAD


async def test_large_results_come_back_in_several_replies() -> None:
    async with desk() as d:
        for n in range(3):
            await interrupt_during(d, text=str(n) + "x" * (900 * 1024))
            await d.aipm.runtime.store.write(lambda tx: tx.run("delete from notifications"))
        first = await d.read()
        assert [r["result"]["text"][0] for r in first["withheld_results"]] == ["0", "1"]
        assert first["has_more"] is True
        second = await d.read()
        assert [r["result"]["text"][0] for r in second["withheld_results"]] == ["2"]
        assert "has_more" not in second


async def test_expiry_and_sweeping() -> None:
    now = [1_700_000_000.0]
    async with desk(clock=lambda: now[0], ttl_hours=1, keep_days=2) as d:
        inbox: Any = d.aipm.runtime.services.use(INBOX)
        sweeper = Sweeper(inbox._ctx)
        await d.put(action="cancel", audience="task")
        read = await d.put("message", audience="chat")
        assert await d.ids(CHAT) == [read]
        now[0] += 3599
        assert (await d.call("echo", TASK)).replaced == REPLACED
        assert await sweeper.sweep() == 0
        now[0] += 1
        assert notice(await d.call("echo", TASK)) == NONE
        assert await d.ids() == []
        assert await sweeper.sweep() == 1
        now[0] += 2 * 86_400
        assert await sweeper.sweep() == 1
        row = await d.aipm.runtime.store.one("select count(*) as n from notifications")
        assert row is not None
        assert row["n"] == 0


async def test_pause_holds_until_resume() -> None:
    async with desk() as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        assert await inbox.paused_since(store, TASK) is None
        await d.put(action="pause", audience="task")
        assert await inbox.paused_since(store, TASK) is not None
        assert await inbox.paused_since(store, CHAT) is None
        await d.read()
        assert await inbox.paused_since(store, TASK) is not None
        await d.put("message", action="resume", audience="task")
        assert await inbox.paused_since(store, TASK) is None


async def test_newest_counts_what_is_visible_and_unread() -> None:
    async with desk() as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        assert await inbox.newest(store, TASK) == 0
        await d.put("message")
        first = await inbox.newest(store, TASK)
        assert first > 0
        await d.put("new_message", audience="chat")
        assert await inbox.newest(store, TASK) == first
        assert await inbox.newest(store, CHAT) > first
        assert await inbox.unread(store, "agent-a", "p") == 2


async def test_settling_a_task_reads_its_interrupts_and_no_other() -> None:
    async with desk() as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        await d.put(action="blocked", task_id="tsk_1")
        other = await d.put(action="blocked", task_id="tsk_2")
        plain = await d.put("message", task_id="tsk_1")
        where = {"agent_id": "agent-a", "project_id": "p", "task_id": "tsk_1"}
        await store.write(lambda tx: inbox.settle(tx, **where))
        assert await d.ids() == [plain, other]


async def test_both_languages_say_the_same_things() -> None:
    package = "aipm_notifications"
    assert Texts.load(package, "ja").keys() == Texts.load(package, "en").keys()
    async with desk(locale="en") as d:
        assert notice(await d.call("echo", TASK)) == "No notifications."


@pytest.mark.parametrize("purpose", ["task", "chat"])
@pytest.mark.parametrize("action", ["cancel", "pause", "blocked", "resume"])
@pytest.mark.parametrize("locale", ["ja", "en"])
async def test_each_instruction_names_the_next_call(locale: Any, action: str, purpose: str) -> None:
    stop = purpose == "task" and action in {"cancel", "blocked"}
    session = TASK if purpose == "task" else CHAT
    async with desk(locale=locale) as d:
        await d.put("message" if action == "resume" else "interrupt", action=action)
        (item,) = (await d.read(session))["notifications"]
        expected = 'report_completed(result="blocked")' if stop else "get_next_action("
        assert expected in item["instruction"]


async def test_the_checks_use_their_indexes() -> None:
    from aipm_notifications import inbox as module

    async with desk() as d:
        for sql in (
            module._ANYTHING,
            module._INTERRUPTED,
            module._UNREAD,
            module._NEWEST,
            module._PAUSE,
        ):
            rows = await d.aipm.runtime.store.all(
                "explain query plan " + sql, *[""] * sql.count("?")
            )
            plan = [row["detail"] for row in rows if "notifications" in row["detail"]]
            assert plan
            assert all(line.startswith("SEARCH") for line in plan), plan
