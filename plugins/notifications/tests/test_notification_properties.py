"""Any order of notifying, calling, reading, crashing and restarting keeps the promises."""

import asyncio
import shutil
import tempfile
from collections import defaultdict
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aipm_devkit.testing import CHAT, TASK, TestRuntime, running
from aipm_notifications.api import INBOX
from aipm_notifications.plugin import Notifications
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from aipm_core import Access, AnyTool, Arguments, Call, CallError, Json, Plugin, Reply, hookimpl
from aipm_core import tool as make_tool
from aipm_core.models import Session

REPLACED = (
    "通知があります。\n\n1. get_notifications() を呼び出して詳細を確認してください\n"
    "2. 通知の指示に従ってください"
)
SESSIONS = [
    TASK,
    CHAT,
    replace(TASK, id="b", agent_id="agent-b"),
    replace(TASK, id="q", project_id="q"),
]


class Act(Arguments):
    number: int
    fail: bool = False


class Deed(Plugin):
    """A tool whose every run is counted, and which can be held in the middle."""

    ran: ClassVar[list[int]] = []
    held: ClassVar[dict[int, asyncio.Event]] = {}
    started: ClassVar[dict[int, asyncio.Event]] = {}

    @hookimpl
    def aipm_tools(self) -> list[AnyTool]:
        return [make_tool(self.act, access=Access.SESSION)]

    async def act(self, call: Call, args: Act) -> Json:
        """Do something that must not be done twice."""
        self.ran.append(args.number)
        if args.number in self.held:
            self.started[args.number].set()
            await self.held[args.number].wait()
        if args.fail:
            raise CallError("no", code="refused", status=409)
        return {"number": args.number}


@dataclass
class Left:
    """What the model knows of a notification."""

    id: str
    agent_id: str
    project_id: str
    audience: str | None
    interrupt: bool
    read: bool = False

    def seen_by(self, session: Session) -> bool:
        whose = (self.agent_id, self.project_id) == (session.agent_id, session.project_id)
        return whose and self.audience in (None, session.purpose) and not self.read


class InboxMachine(RuleBasedStateMachine):
    """The real runtime on a real file beside a model of what it promises."""

    who = st.sampled_from(SESSIONS)
    audiences = st.sampled_from([None, "task", "chat"])

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.place = Path(tempfile.mkdtemp(prefix="aipm-"))
        self.opened: list[AbstractAsyncContextManager[TestRuntime]] = []
        self.left: list[Left] = []
        self.withheld: dict[tuple[str, str, str], list[Json]] = defaultdict(list)
        self.number = 0
        Deed.ran.clear()
        Deed.held.clear()
        self.runner.run(self._open())

    async def _open(self) -> None:
        runtime = running(Notifications, Deed, data_dir=self.place)
        self.opened.append(runtime)
        self.aipm = await runtime.__aenter__()

    def teardown(self) -> None:
        for runtime in self.opened:
            self.runner.run(runtime.__aexit__(None, None, None))
        self.runner.close()
        shutil.rmtree(self.place)

    def interrupted(self, session: Session) -> bool:
        return any(one.interrupt and one.seen_by(session) for one in self.left)

    def field(self, session: Session) -> str:
        unread = any(one.seen_by(session) for one in self.left)
        text = "【重要】通知があります。get_notifications を呼び出して確認してください。"
        return text if unread else "通知はありません"

    def check_reply(self, session: Session, reply: Reply) -> None:
        assert reply.replaced is None
        assert reply.fields == {"notification": self.field(session)}

    async def _notify(self, addressee: Session, audience: Any, *, interrupt: bool) -> None:
        inbox = self.aipm.runtime.services.use(INBOX)
        made = await self.aipm.runtime.store.write(
            lambda tx: inbox.put(
                tx,
                agent_id=addressee.agent_id,
                project_id=addressee.project_id,
                type="interrupt" if interrupt else "message",
                message="m",
                audience=audience,
            )
        )
        self.left.append(Left(made, addressee.agent_id, addressee.project_id, audience, interrupt))

    @rule(addressee=who, audience=audiences, interrupt=st.booleans())
    def notify(self, addressee: Session, audience: Any, interrupt: bool) -> None:
        self.runner.run(self._notify(addressee, audience, interrupt=interrupt))

    @rule(session=who, fail=st.booleans())
    def call(self, session: Session, fail: bool) -> None:
        self.number += 1
        stopped = self.interrupted(session)
        reply = self.runner.run(self.aipm.call("act", session, number=self.number, fail=fail))
        assert (self.number in Deed.ran) is not stopped
        if stopped:
            assert reply == Reply(replaced=REPLACED)
        else:
            self.check_reply(session, reply)
            assert (reply.error is not None) is fail

    @rule(
        session=who,
        fail=st.booleans(),
        addressee=st.one_of(st.none(), st.none(), who),
        audience=st.sampled_from([None, None, "task", "chat"]),
        interrupt=st.sampled_from([True, True, False]),
    )
    def call_while_something_arrives(
        self,
        session: Session,
        fail: bool,
        addressee: Session,
        audience: Any,
        interrupt: bool,
    ) -> None:
        if self.interrupted(session):
            return
        self.number += 1
        reply = self.runner.run(
            self._held(session, fail, addressee or session, audience, interrupt)
        )
        assert self.number in Deed.ran
        if self.interrupted(session):
            assert reply == Reply(replaced=REPLACED)
            self.withheld[key(session)].append((self.number, fail))
        else:
            self.check_reply(session, reply)

    async def _held(
        self, session: Session, fail: bool, addressee: Session, audience: Any, interrupt: bool
    ) -> Reply:
        go, started = asyncio.Event(), asyncio.Event()
        Deed.held[self.number], Deed.started[self.number] = go, started
        calling = self.aipm.call("act", session, number=self.number, fail=fail)
        task = asyncio.create_task(calling)
        await asyncio.wait_for(started.wait(), 10)
        await self._notify(addressee, audience, interrupt=interrupt)
        go.set()
        return await task

    @rule(session=who, mark=st.booleans())
    def read(self, session: Session, mark: bool) -> None:
        expected = [one for one in reversed(self.left) if one.seen_by(session)]
        reply = self.runner.run(self.aipm.call("get_notifications", session, mark_as_read=mark))
        found = reply.result
        assert [item["id"] for item in found["notifications"]] == [one.id for one in expected]
        kept = [(self._number(item), not item["ok"]) for item in found["withheld_results"]]
        assert [fail for _, fail in kept] == [fail for _, fail in self.withheld[key(session)]]
        numbers = [number for number, fail in self.withheld[key(session)] if not fail]
        assert [number for number, fail in kept if not fail] == numbers
        if mark:
            for one in expected:
                one.read = True
            self.withheld[key(session)].clear()
        self.check_reply(session, reply)

    def _number(self, item: Any) -> int:
        return int(item["result"].get("number", 0))

    @rule()
    def crash(self) -> None:
        """Leave everything as it is and start anew on the same files."""
        self.runner.run(self._open())

    @rule()
    def restart(self) -> None:
        self.runner.run(self.opened.pop().__aexit__(None, None, None))
        self.runner.run(self._open())


def key(session: Session) -> tuple[str, str, str]:
    return session.agent_id, session.project_id, session.purpose


def test_promises_of_the_inbox() -> None:
    run_state_machine_as_test(
        InboxMachine, settings=settings(max_examples=25, stateful_step_count=25, deadline=None)
    )


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_promises_of_the_inbox_at_length() -> None:
    run_state_machine_as_test(
        InboxMachine, settings=settings(max_examples=400, stateful_step_count=45, deadline=None)
    )
