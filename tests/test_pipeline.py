"""The road of one call."""

import logging
from collections.abc import Iterable
from typing import Annotated, Any

import anyio
import pytest
from aipm_devkit.testing import CHAT, MANAGER, TASK, running
from pydantic import AfterValidator

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Authenticator,
    Authorizer,
    Call,
    Json,
    PermissionDenied,
    Phase,
    Plugin,
    PluginContext,
    Reply,
    ReplyReplaced,
    Request,
    ResponseMiddleware,
    ServiceKey,
    Session,
    SessionInvalid,
    Stage,
    Tool,
    hookimpl,
    tool,
)
from aipm_core.errors import StoreUnavailable


class Echo(Arguments):
    text: str = "hi"


class EchoPlugin(Plugin):
    """Tools of every kind, and tools that misbehave."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        for access in Access:
            yield Tool(
                name=f"echo_{access.value}",
                description="Echo.",
                arguments=Echo,
                run=self.echo,
                access=access,
            )
        for bad in (self.boom, self.garbage, self.huge):
            yield tool(bad, access=Access.ANYONE)
        yield tool(self.hang, access=Access.ANYONE, deadline=0.02)
        yield Tool(
            name="raw",
            description="Declared by a schema.",
            arguments={
                "properties": {"n": {"type": "integer", "minimum": 1}},
                "required": ["n"],
            },
            run=self.raw,
            access=Access.ANYONE,
        )

    async def echo(self, call: Call, args: Echo) -> Json:
        return {"text": args.text}

    async def raw(self, call: Call, args: dict[str, Json]) -> Json:
        return {"n": args["n"]}

    async def boom(self, call: Call, args: Echo) -> Json:
        """Raise."""
        raise RuntimeError("secret detail")

    async def garbage(self, call: Call, args: Echo) -> Json:
        """Return no JSON."""
        return {"value": object()}

    async def huge(self, call: Call, args: Echo) -> Json:
        """Return too much."""
        return "x" * (5 * 1024 * 1024)

    async def hang(self, call: Call, args: Echo) -> Json:
        """Never end."""
        await anyio.sleep_forever()


def code(reply: Reply) -> str | None:
    return reply.error.code if reply.error else None


@pytest.mark.parametrize(
    ("access", "session", "error"),
    [
        ("any", None, None),
        ("any", TASK, None),
        ("auth", None, "authentication_required"),
        ("auth", TASK, None),
        ("auth", CHAT, None),
        ("task", None, "authentication_required"),
        ("task", TASK, None),
        ("task", CHAT, "task_session_required"),
        ("chat", TASK, "chat_session_required"),
        ("chat", CHAT, None),
        ("manager", TASK, "manager_required"),
        ("manager", MANAGER, None),
    ],
)
async def test_access_table(access: str, session: Session | None, error: str | None) -> None:
    async with running(EchoPlugin) as aipm:
        assert code(await aipm.call(f"echo_{access}", session)) == error


async def test_wrong_purpose_names_the_tool_and_the_purpose() -> None:
    async with running(EchoPlugin, locale="en") as aipm:
        reply = await aipm.call("echo_chat", TASK)
    assert reply.error is not None
    assert "echo_chat" in reply.error.message
    assert "purpose=task" in reply.error.message


@pytest.mark.parametrize("name", ["boom", "garbage", "huge", "hang"])
async def test_a_misbehaving_tool_harms_only_its_own_call(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(EchoPlugin) as aipm:
        reply = await aipm.call(name)
        assert code(await aipm.call("echo_any")) is None
    assert reply.error is not None
    assert (reply.error.code, reply.error.status) == ("internal_error", 500)
    incident = reply.error.message[reply.error.message.index("inc_") :].split(" ")[0]
    assert "secret" not in reply.error.message
    [record] = [r for r in caplog.records if incident in r.getMessage()]
    assert f"plugin echo_plugin: {name}" in record.getMessage()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": 3}, "text: must be a string"),
        ({"txt": "x"}, "txt: there is no argument of this name"),
    ],
)
async def test_bad_arguments_name_field_and_reason(arguments: Any, message: str) -> None:
    async with running(EchoPlugin, locale="en") as aipm:
        reply = await aipm.call("echo_any", **arguments)
    assert reply.error is not None
    assert (reply.error.code, reply.error.status) == ("invalid_arguments", 400)
    assert reply.error.message.endswith(message)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"n": 1}, None),
        ({"n": 0}, "n: 0 is less"),
        ({}, "'n' is a required"),
        ({"n": 1, "m": 2}, "'m'"),
    ],
)
async def test_raw_schemas_are_checked_and_closed(arguments: Any, error: str | None) -> None:
    async with running(EchoPlugin) as aipm:
        reply = await aipm.call("raw", **arguments)
    assert (reply.error is None) == (error is None)
    if error and reply.error:
        assert error in reply.error.message


async def test_an_unknown_tool_is_told_apart() -> None:
    async with running(EchoPlugin) as aipm:
        assert code(await aipm.call("nothing")) == "tool_not_found"


class Door(Plugin):
    """Counts who asks, and knows one token."""

    @hookimpl
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        yield Authenticator(name="door", resolve=self._resolve)

    async def _resolve(self, credential: str) -> Session | None:
        return TASK if credential == "good" else None


class UiOnly(Plugin):
    """A tool that agents do not know, and one that may not run."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        for name in ("ui:echo", "ui:closed"):
            yield Tool(
                name=name,
                description="Echo.",
                arguments=Echo,
                run=self.echo,
                access=Access.SESSION,
                audience="in_process",
            )

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="closed", check=self._check)

    async def _check(self, call: Call) -> None:
        if call.tool.name == "ui:closed":
            raise PermissionDenied("closed")

    async def echo(self, call: Call, args: Echo) -> Json:
        return {"text": args.text, "call": call.request.call_id}


async def test_tools_for_user_interfaces_do_not_exist_for_agents() -> None:
    async with running(EchoPlugin, UiOnly) as aipm:
        outside = await aipm.call("ui:echo", TASK)
        unknown = await aipm.call("ui:none", TASK)
        with_token = await aipm.call_with_token("ui:echo", TASK.id)
        request = Request(tool="ui:echo", session=TASK, audience="in_process", call_id="c1")
        inside = await aipm.runtime.call(request)
        assert "ui:echo" not in [tool.name for tool in aipm.runtime.catalog()]
        assert "ui:echo" in [tool.name for tool in aipm.runtime.catalog("in_process")]
        assert "echo_task" in [tool.name for tool in aipm.runtime.catalog("in_process")]
        for_people = {tool.name for tool in aipm.runtime.catalog("ui")}
    async with running() as bare:
        assert for_people == {tool.name for tool in bare.runtime.catalog("ui")}
    for reply in (outside, unknown, with_token):
        assert reply.error is not None
        assert reply.error.code == "tool_not_found"
    assert inside.result == {"text": "hi", "call": "c1"}


async def test_a_caller_hears_that_its_tool_starts_only_when_it_does() -> None:
    heard: list[str] = []

    async def started() -> None:
        heard.append("started")

    async with running(UiOnly) as aipm:
        for tool_name, arguments in (
            ("ui:none", {}),
            ("ui:closed", {}),
            ("ui:echo", {"wrong": 1}),
        ):
            await aipm.runtime.call(
                Request(
                    tool=tool_name,
                    arguments=arguments,
                    session=TASK,
                    audience="in_process",
                    started=started,
                )
            )
        assert heard == []
        await aipm.runtime.call(
            Request(tool="ui:echo", session=TASK, audience="in_process", started=started)
        )
    assert heard == ["started"]


async def test_token_from_argument_or_transport() -> None:
    async with running(EchoPlugin, Door) as aipm:
        assert code(await aipm.call_with_token("echo_task", "good")) is None
        assert code(await aipm.call_with_token("echo_task", None, session_token="good")) is None
        assert code(await aipm.call_with_token("echo_task", "good", session_token="good")) is None


async def test_two_different_tokens_are_a_mismatch() -> None:
    async with running(EchoPlugin, Door) as aipm:
        for bad in ("other", 3, "\ud800"):
            reply = await aipm.call_with_token("echo_task", "good", session_token=bad)
            assert code(reply) == "session_token_mismatch"


async def test_a_bad_token_is_invalid_but_does_not_close_the_way_in() -> None:
    async with running(EchoPlugin, Door) as aipm:
        assert code(await aipm.call_with_token("echo_task", "bad")) == "session_invalid"
        assert code(await aipm.call_with_token("echo_any", "bad")) is None


class Broken(Plugin):
    """Every kind of hook function, each failing in the way the settings of the test say."""

    how = "raise"

    async def _fail(self) -> Any:
        if self.how == "raise":
            raise RuntimeError("broken")
        if self.how == "hang":
            await anyio.sleep_forever()
        return "garbage"


class BrokenAuthorizer(Broken):
    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="deny", check=self._check, deadline=0.02)

    async def _check(self, call: Call) -> None:
        await self._fail()


@pytest.mark.parametrize("how", ["raise", "hang"])
async def test_a_broken_authorizer_denies(
    how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Broken, "how", how)
    async with running(EchoPlugin, BrokenAuthorizer) as aipm:
        assert code(await aipm.call("echo_any")) == "internal_error"
    assert "plugin broken_authorizer: deny" in caplog.text


class BrokenStaticAuthorizer(Broken):
    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="deny", check=self._check, deadline=0.02, stage=Stage.RIGHTS)

    async def _check(self, call: Call) -> None:
        await self._fail()


@pytest.mark.parametrize("how", ["raise", "hang"])
async def test_where_an_authorizer_breaks_tools_look_closed_and_stay_closed(
    how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Broken, "how", how)
    async with running(EchoPlugin, BrokenStaticAuthorizer) as aipm:
        offered = {tool.name: tool for tool in aipm.runtime.catalog()}
        refusal = await aipm.runtime.refusal(offered["echo_task"], TASK)
        assert refusal is not None
        assert (refusal.code, refusal.status) == ("internal_error", 500)
        incident = str(refusal)[str(refusal).index("inc_") :].split(" ")[0]
        assert incident in caplog.text
        assert code(await aipm.call("echo_task", TASK)) == "internal_error"
        # What the access of the tool forbids is told as that, whatever else is broken.
        assert code(await aipm.call("echo_chat", TASK)) == "chat_session_required"
        closed = await aipm.runtime.refusal(offered["echo_chat"], TASK)
        assert closed is not None
        assert closed.code == "chat_session_required"


class BrokenGate(Broken):
    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="gate", check=self._check, stage=Stage.GATE, deadline=0.02)

    async def _check(self, call: Call) -> None:
        await self._fail()


@pytest.mark.parametrize("how", ["raise", "hang"])
async def test_a_broken_gate_lets_nobody_through(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "how", how)
    async with running(EchoPlugin, BrokenGate) as aipm:
        assert code(await aipm.call("echo_task")) == "internal_error"


class BrokenAuthenticator(Broken):
    @hookimpl
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        yield Authenticator(name="who", resolve=self._resolve, deadline=0.02)

    async def _resolve(self, credential: str) -> Session | None:
        await self._fail()
        return "somebody"  # type: ignore[return-value]


@pytest.mark.parametrize("how", ["raise", "hang", "garbage"])
async def test_a_broken_authenticator_lets_nobody_in(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Broken, "how", how)
    async with running(EchoPlugin, BrokenAuthenticator) as aipm:
        assert code(await aipm.call_with_token("echo_task", "x")) == "internal_error"
        assert not await aipm.runtime.knows("x")
        assert await aipm.runtime.knows(TASK.id)


class People(Plugin):
    """Knows credentials of people, which open no agent's tool."""

    @hookimpl
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        yield Authenticator(name="people", resolve=self._resolve, audience="ui")

    async def _resolve(self, credential: str) -> Session | None:
        if credential == "later":
            raise StoreUnavailable("disk I/O error")
        person = Session(id="person:mia", agent_id="mia", purpose="ui", kind="human")
        return person if credential == "mia" else None


async def test_a_credential_may_be_somebodys_without_a_session() -> None:
    async with running(People) as aipm:
        assert await aipm.runtime.knows("mia")
        assert await aipm.runtime.knows(TASK.id)
        assert not await aipm.runtime.knows("nobody")
        with pytest.raises(StoreUnavailable):
            await aipm.runtime.knows("later")


class BrokenMiddleware(Broken):
    @hookimpl
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        yield ResponseMiddleware(
            name="last", apply=self._last, phase=Phase.REPLACE, on_error="fail"
        )
        yield ResponseMiddleware(
            name="bad", apply=self._bad, phase=Phase.ENRICH, on_error="skip", deadline=0.02
        )

    async def _bad(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        return await self._fail()  # type: ignore[no-any-return]

    async def _last(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        return reply.with_field("last", True)


@pytest.mark.parametrize("how", ["raise", "hang", "garbage"])
async def test_a_skipping_middleware_does_not_hurt_the_others(
    how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Broken, "how", how)
    async with running(EchoPlugin, BrokenMiddleware) as aipm:
        reply = await aipm.call("echo_any")
    assert reply.envelope() == {"result": {"text": "hi"}, "last": True}
    assert "plugin broken_middleware: bad" in caplog.text


class FailingMiddleware(Plugin):
    @hookimpl
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        yield ResponseMiddleware(name="bad", apply=self._bad, phase=Phase.GUARD, on_error="fail")

    async def _bad(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        raise PermissionDenied("not the place for this")


async def test_a_failing_middleware_hides_the_result(caplog: pytest.LogCaptureFixture) -> None:
    async with running(EchoPlugin, FailingMiddleware) as aipm:
        reply = await aipm.call("echo_any")
    assert code(reply) == "internal_error"
    assert reply.result is None
    assert "only checks before the call may do" in caplog.text


class Stop(Plugin):
    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="stop", check=self._check, stage=Stage.GATE)

    async def _check(self, call: Call) -> None:
        raise ReplyReplaced("stop")


async def test_a_gate_wins_over_everything_for_callers_with_a_session() -> None:
    async with running(EchoPlugin, Stop) as aipm:
        for name, arguments in (("nothing", {}), ("echo_chat", {}), ("echo_task", {"bad": 1})):
            assert (await aipm.call(name, TASK, **arguments)).replaced == "stop"
        assert code(await aipm.call("echo_any", None)) is None


WAITING = ServiceKey["Waiting"]("waiting")


class Waiting(Plugin):
    """A session that can end, a check that takes its time, and a note on every reply."""

    provides = (WAITING,)

    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.asked, self.answered, self.over = anyio.Event(), anyio.Event(), False
        ctx.services.provide(WAITING, self)

    @hookimpl
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        yield Authenticator(name="ending", resolve=self._resolve)

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="ended", check=self._check, stage=Stage.GATE)
        yield Authorizer(name="slow", check=self._wait, stage=Stage.CONSENT)

    @hookimpl
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        yield ResponseMiddleware(name="news", apply=self._note, phase=Phase.ENRICH, on_error="fail")

    async def _resolve(self, credential: str) -> Session | None:
        return None if self.over else TASK

    async def _check(self, call: Call) -> None:
        if call.request.session is not None and self.over:
            raise SessionInvalid("over")

    async def _wait(self, call: Call) -> None:
        self.asked.set()
        await self.answered.wait()
        await anyio.sleep(0.01)  # so long that what was seen before is old

    async def _note(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        return reply if session is None else reply.with_field("news", "something came")


@pytest.mark.parametrize(
    "request_of", [{"credential": "t"}, {"session": TASK}], ids=["token", "session"]
)
@pytest.mark.parametrize("tool", ["echo_task", "echo_auth", "echo_any"])
async def test_a_session_that_ended_while_a_check_waited_runs_nothing(
    request_of: dict[str, Any], tool: str
) -> None:
    async with running(EchoPlugin, Waiting) as aipm, anyio.create_task_group() as tasks:
        waiting = aipm.runtime.services.use(WAITING)
        replies: list[Reply] = []

        async def call() -> None:
            replies.append(await aipm.runtime.call(Request(tool=tool, **request_of)))

        tasks.start_soon(call)
        await waiting.asked.wait()
        waiting.over = True
        waiting.answered.set()
    (reply,) = replies
    assert (code(reply), reply.result, reply.fields) == ("session_invalid", None, {})


async def test_a_plugins_error_is_logged_once_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(EchoPlugin) as aipm:
        await aipm.call("boom")
    [record] = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert record.exc_info


class Mistaken(Plugin):
    """Mistakes authors make, which their log names and callers never see."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.who_calls, access=Access.ANYONE)
        yield tool(self.what_is_said, access=Access.ANYONE)

    async def who_calls(self, call: Call, args: Echo) -> Json:
        """Rely on a session that need not be there."""
        return call.caller.agent_id

    async def what_is_said(self, call: Call, args: Echo) -> Json:
        """Use a text that no catalogue has."""
        return self.ctx.texts("says.nothing")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("who_calls", "who_calls is open to callers without a session"),
        ("what_is_said", "no text 'says.nothing' in the catalogue of"),
    ],
)
async def test_a_mistake_of_an_author_is_named_in_the_log_only(
    name: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(Mistaken) as aipm:
        reply = await aipm.call(name, None)
        assert reply.error is not None
        assert (reply.error.code, told in reply.error.message) == ("internal_error", False)
        assert told in caplog.text
        assert (await aipm.call("who_calls", TASK)).result == "agent-a"


class Picky(Arguments):
    text: Annotated[str, AfterValidator(lambda text: {}[text])]


class PickyPlugin(Plugin):
    """A tool whose own check of its arguments is broken."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield Tool(
            name="picky",
            description="Never runs.",
            arguments=Picky,
            run=self.pick,
            access=Access.ANYONE,
        )

    async def pick(self, call: Call, args: Picky) -> Json:
        return {"text": args.text}


async def test_a_check_of_arguments_that_raises_is_hidden_and_numbered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(PickyPlugin) as aipm:
        reply = await aipm.call("picky", text="secret word")
    assert reply.error is not None
    assert (reply.error.code, reply.error.status) == ("internal_error", 500)
    assert "inc_" in reply.error.message
    assert "secret word" not in reply.error.message
    assert "picky failed" in caplog.text
