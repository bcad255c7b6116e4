"""Results of calls that ran while an interrupt arrived: never lost, never shown twice."""

import hashlib
from pathlib import Path
from typing import ClassVar

import anyio
from aipm_devkit.testing import CHAT, TASK, running
from aipm_notifications.plugin import Notifications
from aipm_sessions.api import SESSIONS
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from tests.inbox_runtime import (
    OTHERS,
    REPLACED,
    UNREAD,
    InboxRuntime,
    Probe,
    inbox_runtime,
    interrupt_during,
    notice,
)

from aipm_core import Access, AnyTool, Authorizer, Call, Plugin, Reply, hookimpl, tool


async def test_an_interrupt_ends_a_wait_and_its_result_is_kept() -> None:
    async with inbox_runtime() as d:
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


class Confirmer(Plugin):
    """Lets a call wait for a person, as a policy does."""

    asked: ClassVar[anyio.Event]
    answered: ClassVar[anyio.Event]

    @hookimpl
    def aipm_authorizers(self) -> list[Authorizer]:
        return [Authorizer(name="confirm", check=self._check, deadline=60)]

    async def _check(self, call: Call) -> None:
        if call.tool.name == "echo":
            self.asked.set()
            await self.answered.wait()


async def test_an_interrupt_while_a_person_is_asked_stops_the_call() -> None:
    Confirmer.asked, Confirmer.answered = anyio.Event(), anyio.Event()
    replies: list[Reply] = []
    async with running(Notifications, Probe, Confirmer) as aipm:
        d = InboxRuntime(aipm)

        async def call() -> None:
            replies.append(await d.call("echo", TASK, text="x"))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await Confirmer.asked.wait()
            await d.put(action="cancel")
            await anyio.sleep(0.01)  # longer than what counts as at once
            Confirmer.answered.set()
        assert replies == [Reply(replaced=REPLACED)]
        assert (await d.read())["withheld_results"] == []


async def test_the_failure_of_an_interrupted_call_is_kept_too() -> None:
    async with inbox_runtime() as d:
        assert (await interrupt_during(d, fail=True)).replaced == REPLACED
        (result,) = (await d.read())["withheld_results"]
        assert result["ok"] is False
        assert result["result"] == {"code": "refused", "status": 409, "message": "no"}


async def test_a_withheld_result_goes_to_its_own_kind_of_session_only() -> None:
    async with inbox_runtime() as d:
        await interrupt_during(d, text="mine", session=CHAT)
        assert (await d.read(TASK))["withheld_results"] == []
        for other in OTHERS[:2]:
            assert (await d.read(other))["withheld_results"] == []
        assert len((await d.read(CHAT))["withheld_results"]) == 1


async def test_withheld_results_survive_a_restart(tmp_path: Path) -> None:
    async with inbox_runtime(tmp_path) as d:
        await interrupt_during(d, text="kept")
    async with inbox_runtime(tmp_path) as d:
        assert (await d.call("echo", TASK)).replaced == REPLACED
        assert (await d.read())["withheld_results"][0]["result"] == {"text": "kept"}
        assert (await d.read())["withheld_results"] == []


async def test_what_cannot_be_kept_is_delivered() -> None:
    async with inbox_runtime() as d:
        await d.aipm.runtime.store.write(lambda tx: tx.run("drop table withheld_results"))
        reply = await interrupt_during(d, text="not lost")
        assert reply.result == {"text": "not lost"}
        assert notice(reply) == UNREAD
        assert (await d.call("echo", TASK)).replaced == REPLACED


async def test_what_is_too_large_to_keep_is_delivered() -> None:
    async with inbox_runtime() as d:
        text = "x" * (2 * 1024 * 1024)
        reply = await interrupt_during(d, text=text)
        assert reply.result == {"text": text}
        assert notice(reply) == UNREAD


async def test_large_results_come_back_in_several_replies() -> None:
    async with inbox_runtime() as d:
        for n in range(3):
            await interrupt_during(d, text=str(n) + "x" * (900 * 1024))
            await d.aipm.runtime.store.write(lambda tx: tx.run("delete from notifications"))
        first = await d.read()
        assert [r["result"]["text"][0] for r in first["withheld_results"]] == ["0", "1"]
        assert first["has_more"] is True
        second = await d.read()
        assert [r["result"]["text"][0] for r in second["withheld_results"]] == ["2"]
        assert "has_more" not in second


class OnlyEcho(Probe):
    """The probe beside the real sessions, which bring their own ``logout``."""

    @hookimpl
    def aipm_tools(self) -> list[AnyTool]:
        return [tool(self.echo, access=Access.ANYONE)]


async def test_a_result_waits_for_its_session_and_goes_to_the_next_when_that_has_ended() -> None:
    async with running(Sessions, Notifications, OnlyEcho) as aipm:
        services, store = aipm.runtime.services, aipm.runtime.store
        administration, desk_of = services.use(ADMINISTRATION), services.use(SESSIONS)
        await administration.add_project("p", "P", None)
        agent, _ = await administration.add_agent(
            "agent-a", project_id="p", name="A", kind="ai", role="worker", parent=None
        )
        first, _ = await store.write(lambda tx: desk_of.open(tx, agent, "p", "task"))
        second, _ = await store.write(lambda tx: desk_of.open(tx, agent, "p", "task"))
        replaced = await interrupt_during(InboxRuntime(aipm), session=first, text="done")
        assert replaced == Reply(replaced=REPLACED)

        async def withheld() -> list[str]:
            reply = await aipm.call("get_notifications", second)
            return [kept["result"]["text"] for kept in reply.result["withheld_results"]]

        assert await withheld() == []
        await store.write(lambda tx: desk_of.close(tx, first.id, "logout"))
        assert await withheld() == ["done"]
