"""The same conversations through every front: our stdio, the SDK's streams, and HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_cli import settings_file
from aipm_cli.program import open_runtime
from aipm_mcp_fixtures.wire import HttpFront, StdioFront
from aipm_mcp_transport import protocol
from aipm_mcp_transport.calls import ToolCalls
from aipm_mcp_transport.rendering import definitions
from aipm_mcp_transport.sdk import make_server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from aipm_core.runtime import Runtime
from aipm_core.texts import Texts

TRANSCRIPTS = Path(__file__).parent / "transcripts"


CLIENTS = ("claude", "codex", "gemini")


def transcript(name: str) -> list[Any]:
    text = (TRANSCRIPTS / name).read_text(encoding="utf-8")
    # A recorded login is refused; nobody else's attempts are to be counted with it.
    own = text.replace('"agent_id":"worker"', f'"agent_id":"{Path(name).stem}"')
    return [json.loads(line) for line in own.splitlines() if line]


def is_request(message: Any) -> bool:
    return "id" in message and "method" in message


def replay(front: StdioFront | HttpFront, messages: list[Any]) -> Iterator[Any]:
    """Send what a client sent, and yield every response."""
    for message in messages:
        if is_request(message):
            yield front.ask(message)
        else:
            front.tell(message)


async def sdk_answers(team: Any, messages: list[Any]) -> list[Any]:
    """Let the SDK's own stream server answer, with the same runtime behind it."""
    settings = settings_file.load(team.install.root / "aipm.toml", environ={})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent / "installed")
        async with open_runtime(settings) as runtime:
            with anyio.fail_after(20):
                return await _talk(runtime, messages)


async def _talk(runtime: Runtime, messages: list[Any]) -> list[Any]:
    texts = Texts.load("aipm_mcp_transport", runtime.settings.locale)
    server_info = protocol.ServerInfo.of(texts, lambda: definitions(runtime))
    server = make_server(runtime, ToolCalls(runtime), server_info)
    inward, inbox = anyio.create_memory_object_stream[Any](16)
    outward, outbox = anyio.create_memory_object_stream[Any](16)
    answers = []
    async with anyio.create_task_group() as tasks, inward, outbox:
        tasks.start_soon(server.run, inbox, outward, server.create_initialization_options())
        for message in messages:
            await inward.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            if is_request(message):
                answer = (await outbox.receive()).message
                answers.append(answer.model_dump(mode="json", by_alias=True, exclude_none=True))
        tasks.cancel_scope.cancel()
    return answers


@pytest.mark.parametrize(
    "name",
    [
        *(f"{client}.jsonl" for client in CLIENTS),
        *(f"recorded/{client}.jsonl" for client in CLIENTS),
        "modern.jsonl",
    ],
)
async def test_clients_cannot_tell_the_fronts_apart(team: Any, http: HttpFront, name: str) -> None:
    messages = transcript(name)
    with team.stdio() as stdio:
        own = list(replay(stdio, messages))
    assert own == await sdk_answers(team, messages)
    assert own == list(replay(http, messages))
    assert any("result" in answer for answer in own)


@pytest.mark.parametrize("name", ["odd-legacy.jsonl", "odd-modern.jsonl"])
async def test_odd_requests_get_the_answers_of_the_sdk(team: Any, name: str) -> None:
    messages = transcript(name)
    with team.stdio() as stdio:
        own = list(replay(stdio, messages))
    assert own == await sdk_answers(team, messages)
    assert sum("error" in answer for answer in own) >= 4


def test_revisions_are_those_of_the_sdk() -> None:
    assert tuple(HANDSHAKE_PROTOCOL_VERSIONS) == protocol.LEGACY
    assert tuple(MODERN_PROTOCOL_VERSIONS) == protocol.MODERN
