"""The provider on pydantic-ai: its own function model, and a real OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from aipm_agent_loop.api import (
    AssistantMessage,
    Image,
    Prompt,
    TextDelta,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.providers import models
from aipm_agent_loop.providers.models import PydanticAi
from aipm_agent_loop.testing import shape, talking
from aipm_devkit.testing import CHAT
from pydantic_ai.messages import BinaryContent, ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from aipm_core import Json

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
TOOLS = tuple(
    ToolSpec(name=name, description="x", schema=SCHEMA) for name in ("file:read", "file_read")
)


def prompt(*messages: Any) -> Prompt:
    return Prompt(session=CHAT, turn=1, instructions="Be kind.", messages=messages, tools=TOOLS)


async def test_a_conversation_reaches_the_model_whole_and_its_answer_comes_back() -> None:
    seen: dict[str, Any] = {}

    async def model(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        seen["messages"], seen["info"] = messages, info
        yield "Let me "
        yield "look."
        yield {1: DeltaToolCall(name="file_read", json_args='{"path": ', tool_call_id="same")}
        yield {1: DeltaToolCall(json_args='"a"}')}
        yield {2: DeltaToolCall(name="file_read_", json_args="[1]", tool_call_id="same")}

    history = (
        UserMessage(
            text="hi", images=(Image(mime_type="image/png", data=base64.b64encode(b"p").decode()),)
        ),
        AssistantMessage(text="", calls=(ToolCall(id="c1", name="file:read", args={"path": "x"}),)),
        ToolMessage(
            call_id="c1", name="file:read", status="denied", reply={"error": {"code": "no"}}
        ),
        AssistantMessage(text="I may not."),
        UserMessage(text="again"),
    )
    provider = PydanticAi(AgentLoopConfig(), FunctionModel(stream_function=model))
    parts = [part async for part in provider.respond(prompt(*history))]
    text = "".join(part.text for part in parts if isinstance(part, TextDelta))
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert text == "Let me look."
    assert [(call.name, dict(call.args)) for call in calls] == [
        ("file:read", {"path": "a"}),
        ("file_read", {"INVALID_JSON": "[1]"}),
    ]
    assert len({call.id for call in calls}) == 2
    assert next(part for part in parts if isinstance(part, Usage)).tokens > 0
    first, second, third, fourth, fifth = seen["messages"]
    assert first.instructions == "Be kind."
    assert first.parts[0].content == ["hi", BinaryContent(data=b"p", media_type="image/png")]
    assert (second.parts[0].tool_name, second.parts[0].tool_call_id) == ("file_read", "c1")
    assert (third.parts[0].tool_call_id, '"no"' in third.parts[0].content) == ("c1", True)
    assert fourth.parts[0].content == "I may not."
    assert fifth.parts[0].content == "again"
    assert [tool.name for tool in seen["info"].function_tools] == ["file_read", "file_read_"]


class Endpoint:
    """Speaks the streaming protocol of OpenAI-compatible servers; records what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.keys: list[str] = []

    async def chat(self, request: Request) -> StreamingResponse:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers["authorization"])
        results = [m for m in body["messages"] if m["role"] == "tool"]
        if results:
            deltas = [
                {"content": "It says "},
                {"content": json.loads(results[-1]["content"])["result"]["content"]},
            ]
        else:
            function = {"name": "file_read", "arguments": '{"path": "a.txt"}'}
            deltas = [
                {"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": function}]}
            ]
        return StreamingResponse(self._stream(deltas), media_type="text/event-stream")

    async def _stream(self, deltas: list[dict[str, Any]]) -> AsyncGenerator[str]:
        common = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        for delta in deltas:
            choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
            yield f"data: {json.dumps({**common, 'choices': [choice]})}\n\n"
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        yield f"data: {json.dumps({**common, 'choices': [], 'usage': usage})}\n\n"
        yield "data: [DONE]\n\n"


@asynccontextmanager
async def endpoint() -> AsyncGenerator[tuple[Endpoint, str]]:
    made = Endpoint()
    app = Starlette(routes=[Route("/v1/chat/completions", made.chat, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        server.capture_signals = _no_signals  # type: ignore[method-assign]
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield made, f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            await serving


def _no_signals() -> Any:
    from contextlib import nullcontext

    return nullcontext()


async def test_an_openai_compatible_server_drives_a_tool_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-canary-77")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("forty-two")
    async with endpoint() as (server, url):
        settings = {
            "provider": "pydantic_ai",
            "model": "openai-chat:m",
            "base_url": url,
            "api_key_env": "MY_KEY",
            "instructions": "Antworte kurz.",
        }
        async with talking(tmp_path, agent_loop=settings) as talk:
            await talk.say("Was steht in a.txt?")
            events = await talk.turn()
            rows = await talk.stage.runtime.store.all("select tokens from agent_runs")
    states = [name for name in shape(events) if name != "onMessageDelta"]
    assert states == [
        *("thinking", "executing_tool", "onToolCallResult"),
        *("thinking", "onNewMessage", "waiting_for_input"),
    ]
    assert events[-2]["payload"]["content"] == "It says forty-two"
    assert [row["tokens"] for row in rows] == [24]
    assert server.keys == ["Bearer sk-canary-77"] * 2
    assert "sk-canary-77" not in str(events)
    system = server.asked[0]["messages"][0]
    assert system["role"] in {"system", "developer"}
    assert "Antworte kurz." in system["content"]
    names = {tool["function"]["name"] for tool in server.asked[0]["tools"]}
    assert names == {"file_list", "file_read", "help", "shell_execute"}
    assert "session_token" not in json.dumps(server.asked)


@pytest.mark.parametrize(
    ("settings", "address", "key"),
    [
        ({"api_key_env": "SOME_KEY"}, "https://api.openai.com/v1/", "key-1"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "http://127.0.0.1:9/v1/", "key-2"),
        ({}, "https://api.openai.com/v1/", "key-2"),
    ],
)
def test_a_model_is_reached_with_what_the_settings_name(
    settings: dict[str, Any], address: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "key-1")
    monkeypatch.setenv("OPENAI_API_KEY", "key-2")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = models._load(AgentLoopConfig(model="openai-chat:gpt-x", **settings))
    assert model.model_name == "gpt-x"
    client = model.client  # type: ignore[attr-defined]
    assert (str(client.base_url), client.api_key) == (address, key)
