"""A provider without a model: it echoes, calls the tool it is told to, or plays a script.

A script is a JSON list of turns, each a list of steps: ``{"text": …}`` says something (piece by
piece with ``"stream": true``), ``{"tool": …, "args": {…}}`` calls a tool, ``{"tools": […]}`` calls
several at once, ``{"wait_ms": …}`` thinks. Input number n plays turn n; after the last turn the
script begins anew. A turn that ends with a tool answers with its result.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TypeAlias

import anyio
from aipm_http_server.api import BadJson, parse_json
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from aipm_agent_loop.api import (
    Message,
    Part,
    Prompt,
    Text,
    TextDelta,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from aipm_core import ConfigError, Json, new_id

_CALL = "!call"
_WORDS = re.compile(r"\s*\S+|\s+$")


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class _Say(_Step):
    text: str
    stream: bool = False


class _Use(_Step):
    tool: str
    args: dict[str, Json] = Field(default_factory=dict[str, Json])


class _UseAll(_Step):
    tools: list[_Use] = Field(min_length=1)


class _Wait(_Step):
    wait_ms: int = Field(ge=0, le=3_600_000)


Step: TypeAlias = _Say | _Use | _UseAll | _Wait
_SCRIPT = TypeAdapter(list[list[Step]], config=ConfigDict(defer_build=True))


def read_script(path: Path) -> list[list[Step]]:
    """Read and check a script file."""
    try:
        turns = _SCRIPT.validate_python(parse_json(path.read_bytes()))
    except OSError as error:
        raise ConfigError(f"script {path}: {error.strerror}") from error
    except BadJson as error:
        raise ConfigError(f"script {path}: {error}") from error
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"][:2]))
        problem = "steps are {text}, {tool, args}, {tools} or {wait_ms}"
        raise ConfigError(f"script {path}: turn.step {place}: {problem}") from error
    if not any(turns):
        raise ConfigError(f"script {path}: has no turn")
    return turns


class Scripted:
    """The provider ``scripted``. What it does next follows from the conversation alone."""

    def __init__(self, turns: Sequence[Sequence[Step]] | None = None) -> None:
        self._turns = turns

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Part]:
        """Give the next part of the script, or what the input asks for."""
        said, results = _since_input(prompt.messages)
        if self._turns is not None:
            turn = self._turns[(prompt.turn - 1) % len(self._turns)]
            async for part in _play(turn, results):
                yield part
        elif results:
            yield Text(_shown(results[-1].reply))
        elif said.strip().startswith(f"{_CALL} "):
            yield _asked_for(said.strip())
        else:
            yield Text(f"echo: {said}")


async def _play(turn: Sequence[Step], results: Sequence[ToolMessage]) -> AsyncGenerator[Part]:
    left = len(results)
    for step in turn:
        calls = _calls(step)
        if left > 0:  # said and done in an earlier response of this turn
            left -= len(calls)
            continue
        if calls:
            for call in calls:
                yield call
            return
        async for part in _perform(step):
            yield part
    if results and not _speaks_last(turn):
        yield Text(_shown(results[-1].reply))


def _calls(step: Step) -> list[ToolCall]:
    uses = step.tools if isinstance(step, _UseAll) else [step] if isinstance(step, _Use) else []
    return [ToolCall(id=new_id("call"), name=use.tool, args=use.args) for use in uses]


async def _perform(step: Step) -> AsyncGenerator[Part]:
    if isinstance(step, _Wait):
        await anyio.sleep(step.wait_ms / 1000)
    elif isinstance(step, _Say) and step.stream:
        for word in _WORDS.findall(step.text):
            yield TextDelta(word)
    elif isinstance(step, _Say):
        yield Text(step.text)


def _speaks_last(turn: Sequence[Step]) -> bool:
    last = [step for step in turn if not isinstance(step, _Wait)][-1:]
    return bool(last) and isinstance(last[0], _Say)


def _since_input(messages: Sequence[Message]) -> tuple[str, list[ToolMessage]]:
    """Return the newest input, and the results of the calls since then."""
    said = next((m.text for m in reversed(messages) if isinstance(m, UserMessage)), "")
    since = list(takewhile(lambda m: not isinstance(m, UserMessage), reversed(messages)))
    return said, [m for m in reversed(since) if isinstance(m, ToolMessage)]


def _asked_for(text: str) -> Part:
    _, _, rest = text.partition(" ")
    name, _, raw = rest.strip().partition(" ")
    try:
        args = parse_json(raw.strip().encode() or b"{}")
    except (BadJson, UnicodeEncodeError) as error:
        return Text(f"{_CALL} {name}: {error}")
    if not isinstance(args, dict):
        return Text(f"{_CALL} {name}: the arguments are not a JSON object")
    return ToolCall(id=new_id("call"), name=name, args=args)


def _shown(reply: Json) -> str:
    """Return a result as text: the result itself, an error with its code, or the replacement."""
    if isinstance(reply, str):
        return reply
    value = reply["result"] if isinstance(reply, dict) and "result" in reply else reply
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
