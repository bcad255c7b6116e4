"""The same conversations through every front: our stdio, the SDK's stdio, and HTTP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aipm_mcp_fixtures.wire import HttpFront, StdioFront
from aipm_mcp_transport import protocol
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

TRANSCRIPTS = Path(__file__).parent / "transcripts"


def transcript(name: str) -> list[Any]:
    lines = (TRANSCRIPTS / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def replay(front: StdioFront | HttpFront, messages: list[Any]) -> Iterator[Any]:
    """Send what a client sent, and yield every response."""
    for message in messages:
        if "id" in message and "method" in message:
            yield front.ask(message)
        else:
            front.tell(message)


@pytest.fixture
def fronts(team: Any, http: HttpFront) -> Iterator[dict[str, StdioFront | HttpFront]]:
    sdk = [sys.executable, "-m", "aipm_mcp_fixtures.sdk_stdio", team.install.root / "aipm.toml"]
    with ExitStack() as open_:
        yield {
            "own": open_.enter_context(team.stdio()),
            "sdk": open_.enter_context(team.run(sdk)),
            "http": http,
        }


@pytest.mark.parametrize("name", ["claude.jsonl", "codex.jsonl", "gemini.jsonl", "modern.jsonl"])
def test_clients_cannot_tell_the_fronts_apart(fronts: Any, name: str) -> None:
    answers = {kind: list(replay(front, transcript(name))) for kind, front in fronts.items()}
    assert answers["own"] == answers["sdk"]
    assert answers["own"] == answers["http"]
    assert any("result" in answer for answer in answers["own"])


@pytest.mark.parametrize("name", ["odd-legacy.jsonl", "odd-modern.jsonl"])
def test_odd_requests_get_the_answers_of_the_sdk(fronts: Any, name: str) -> None:
    messages = transcript(name)
    own, sdk = list(replay(fronts["own"], messages)), list(replay(fronts["sdk"], messages))
    assert own == sdk
    assert sum("error" in answer for answer in own) >= 4


def test_revisions_are_those_of_the_sdk() -> None:
    assert tuple(HANDSHAKE_PROTOCOL_VERSIONS) == protocol.LEGACY
    assert tuple(MODERN_PROTOCOL_VERSIONS) == protocol.MODERN
