"""The stages of authorizers: who is asked when, and again when."""

from collections.abc import Iterable
from typing import ClassVar

import anyio
from aipm_devkit.testing import CHAT, TASK, running

from aipm_core import (
    Access,
    AnyTool,
    Authorizer,
    Call,
    Json,
    NoArguments,
    PermissionDenied,
    Plugin,
    Reply,
    Stage,
    hookimpl,
    tool,
)


class Bell(Plugin):
    """A tool for everybody, and one for chat sessions."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.ring, access=Access.SESSION)
        yield tool(self.chime, access=Access.CHAT)

    async def ring(self, call: Call, args: NoArguments) -> Json:
        """Ring."""
        return "ding"

    async def chime(self, call: Call, args: NoArguments) -> Json:
        """Chime."""
        return "dong"


def code(reply: Reply) -> str | None:
    return reply.error.code if reply.error else None


class Recording(Plugin):
    """Notes at which stage it is asked; built after others, asked by stage all the same."""

    seen: ClassVar[list[str]]

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        for stage in reversed(Stage):
            yield Authorizer(name=stage.name, check=self._noting(stage), stage=stage)

    def _noting(self, stage: Stage):  # type: ignore[no-untyped-def]  # noqa: ANN202
        async def check(call: Call) -> None:
            self.seen.append(stage.name)

        return check


async def test_stages_come_in_order_whatever_order_they_are_given_in() -> None:
    Recording.seen = []
    async with running(Bell, Recording) as aipm:
        assert (await aipm.call("ring")).result == "ding"
        assert Recording.seen == ["GATE", "RIGHTS", "STATE", "CONSENT"]
        Recording.seen.clear()
        assert code(await aipm.call("ring", TASK, wrong=1)) == "invalid_arguments"
        assert Recording.seen == ["GATE", "RIGHTS"]
        Recording.seen.clear()
        assert code(await aipm.call("nothing")) == "tool_not_found"
        assert Recording.seen == ["GATE"]


class Consent(Plugin):
    """A person who takes their time, and a state that changes meanwhile."""

    asked: ClassVar[anyio.Event]
    answered: ClassVar[anyio.Event]
    open: ClassVar[bool]

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="person", check=self._ask, stage=Stage.CONSENT, deadline=30)
        yield Authorizer(name="state", check=self._look)

    async def _ask(self, call: Call) -> None:
        self.asked.set()
        await self.answered.wait()
        await anyio.sleep(0.01)  # so long that what was seen before is old

    async def _look(self, call: Call) -> None:
        if not self.open:
            raise PermissionDenied("it is closed now", code="closed")


async def test_a_state_that_changed_while_a_person_thought_is_seen() -> None:
    Consent.asked, Consent.answered, Consent.open = anyio.Event(), anyio.Event(), True
    replies: list[Reply] = []
    async with running(Bell, Consent) as aipm, anyio.create_task_group() as calls:

        async def call() -> None:
            replies.append(await aipm.call("ring"))

        calls.start_soon(call)
        with anyio.fail_after(10):
            await Consent.asked.wait()
        Consent.open = False
        Consent.answered.set()
    assert [code(reply) for reply in replies] == ["closed"]


async def test_nobody_is_asked_about_a_call_that_the_state_refuses() -> None:
    Consent.asked, Consent.answered, Consent.open = anyio.Event(), anyio.Event(), False
    async with running(Bell, Consent) as aipm:
        with anyio.fail_after(10):
            assert code(await aipm.call("ring")) == "closed"
    assert not Consent.asked.is_set()


class Knowing(Plugin):
    """Knows a better word for what the access of a tool refuses, and another reason."""

    code: ClassVar[str]

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="knowing", check=self._look, stage=Stage.RIGHTS)

    async def _look(self, call: Call) -> None:
        if call.tool.name == "chime" and call.caller.purpose == "task":
            raise PermissionDenied("ask the bell ringer", code=self.code)


async def test_the_better_word_for_the_same_refusal_wins_and_another_reason_does_not() -> None:
    async with running(Bell, Knowing) as aipm:
        Knowing.code = "chat_session_required"
        same = await aipm.call("chime", TASK)
        Knowing.code = "out_of_tune"
        other = await aipm.call("chime", TASK)
        assert (await aipm.call("chime", CHAT)).result == "dong"
    assert same.error is not None
    assert (same.error.code, same.error.message) == ("chat_session_required", "ask the bell ringer")
    assert other.error is not None
    assert other.error.code == "chat_session_required"
    assert other.error.message != "ask the bell ringer"
