"""The agent in the server calls what it is offered and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path
from typing import Any

from aipm_agent_loop.api import ModelProvider, Part, Prompt, Text, ToolCall, UserMessage
from aipm_agent_loop.testing import PersonSession, talking
from aipm_conversations.plugin import Conversations
from aipm_delegation.plugin import Delegation
from aipm_file_chat.plugin import FileChat
from aipm_markers.plugin import Markers
from aipm_notifications.plugin import Notifications
from aipm_tasks.plugin import Tasks

from aipm_core import Json, Plugin, PluginContext, Request, Session, hookimpl, new_id

EVERY = (Tasks, FileChat, Notifications, Conversations, Delegation, Markers)


MANY: dict[str, Json] = {"provider": "told", "max_tool_calls": 500}  # every tool in one turn


class Model(Plugin):
    """A provider that does what a test tells it to."""

    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.offered: set[str] = set()
        self.parts: list[Part] = []

    @hookimpl
    def aipm_model_providers(self) -> Iterable[ModelProvider]:
        yield ModelProvider(name="told", make=lambda: self)

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Part]:
        """Give what the test wants on an input, and an end after it."""
        self.offered = {spec.name for spec in prompt.tools}
        fresh = isinstance(prompt.messages[-1], UserMessage)
        for part in self.parts if fresh else [Text("done")]:
            yield part


def model(talk: PersonSession) -> Model:
    found = talk.stage.runtime.manager.get_plugin("model")
    assert isinstance(found, Model)
    return found


async def ui_call(talk: PersonSession, name: str, **arguments: Json) -> Mapping[str, Any]:
    """Call a tool as the agent of the session does."""
    caller = Session(id=talk.session, agent_id="bot", project_id="p", purpose="chat")
    request = Request(tool=name, arguments=arguments, session=caller, audience="in_process")
    return (await talk.stage.runtime.call(request)).envelope()


async def test_the_way_in_and_the_way_out_are_not_offered(tmp_path: Path) -> None:
    async with talking(tmp_path, Model, *EVERY, agent_loop={"provider": "told"}) as talk:
        model(talk).parts = [Text("hello")]
        await talk.ask("hi")
        offered = model(talk).offered
        assert {"file:list", "send_message", "get_notifications", "help"} <= offered
        assert not offered & {"authenticate", "logout", "get_next_action", "get_pending_messages"}


async def test_what_is_not_offered_cannot_be_called(tmp_path: Path) -> None:
    async with talking(tmp_path, Model, *EVERY, agent_loop=MANY) as talk:
        model(talk).parts = [Text("hello")]
        await talk.ask("hi")
        every = [registered.tool.name for registered in talk.stage.runtime.registered()]
        closed = [name for name in every if name not in model(talk).offered]
        model(talk).parts = [ToolCall(id=new_id("call"), name=name) for name in closed]
        await talk.say("all of them")
        events = await talk.turn()
    results = [e["payload"] for e in events if e["type"] == "onToolCallResult"]
    codes = {result["toolName"]: result["error"]["code"] for result in results}
    assert set(codes) == set(closed)
    assert codes["authenticate"] == codes["logout"] == "tool_not_found"
    allowed = {"tool_not_found", "task_session_required", "manager_required"}
    assert set(codes.values()) <= allowed


def sample(schema: Mapping[str, Any]) -> dict[str, Json]:
    """Make the least that fits a tool's schema."""
    values = {"string": "x", "integer": 1, "boolean": False, "array": [], "object": {}}
    wanted = schema.get("required", [])
    fields = {name: schema["properties"][name] for name in wanted}
    return {
        name: field["enum"][0] if "enum" in field else values[field.get("type", "string")]
        for name, field in fields.items()
    }


async def test_what_is_offered_can_work_there(tmp_path: Path) -> None:
    async with talking(tmp_path, Model, *EVERY, agent_loop={"provider": "told"}) as talk:
        model(talk).parts = [Text("hello")]
        await talk.ask("hi")
        codes: dict[str, str] = {}
        for name in model(talk).offered - {"shell:execute"}:
            reply = await ui_call(
                talk, name, **sample(talk.stage.runtime.schema(name, "in_process"))
            )
            codes[name] = reply["error"]["code"] if "error" in reply else "ok"
    useless = {"session_invalid", "tool_not_found", "internal_error", "invalid_arguments"}
    assert {name: code for name, code in codes.items() if code in useless} == {}


async def test_help_lists_what_this_caller_has(tmp_path: Path) -> None:
    async with talking(tmp_path, *EVERY) as talk:
        listed = (await ui_call(talk, "help"))["result"]["tools"]
    names = {line["name"] for line in listed}
    assert {"file:read", "send_message"} <= names
    assert not names & {"authenticate", "logout", "get_next_action", "start_conversation"}


async def test_a_notification_sends_nobody_to_a_tool_that_is_not_there(tmp_path: Path) -> None:
    async with talking(tmp_path, *EVERY, locale="en") as talk:
        await talk.stage.agent("ben")
        sender = Session(id="s", agent_id="ben", project_id="p", purpose="chat")
        said = {"target_agent_id": "bot", "content": "are you there?"}
        await talk.stage.runtime.call(Request(tool="send_message", arguments=said, session=sender))
        found = (await ui_call(talk, "get_notifications"))["result"]["notifications"]
        names = {tool.name for tool in talk.stage.runtime.catalog()}
    assert [one["type"] for one in found] == ["new_message"]
    assert [name for name in names if name in found[0]["instruction"]] == []
