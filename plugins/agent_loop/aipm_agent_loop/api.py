"""What a model provider sees of a conversation, and where it announces itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from aipm_ui_gateway.api import Outcome

from aipm_core import Json, Session, hookspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture, as base64."""

    mime_type: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What a person said."""

    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool the model wants to call. Its id is unique in the conversation."""

    id: str
    name: str
    args: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """What the model said, and the tools it called with it."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The one result of a tool call: the reply's object, or the text that replaced it."""

    call_id: str
    name: str
    status: Outcome
    reply: Json


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool the model may call."""

    name: str
    description: str
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request to a model. ``turn`` counts the inputs of the session, from 1."""

    session: Session
    turn: int
    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a message; the message ends with the response."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A whole message."""

    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens the request took."""

    tokens: int


Part: TypeAlias = TextDelta | Text | ToolCall | Usage


class Provider(Protocol):
    """Answers prompts. A response that is not wanted any more is closed."""

    def respond(self, prompt: Prompt) -> AsyncGenerator[Part]:
        """Give the parts of one response."""
        ...


@runtime_checkable
class ClosingProvider(Provider, Protocol):
    """A provider that holds something open."""

    async def aclose(self) -> None:
        """Let go of it: the program stops."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    """A provider that ``[plugins.agent_loop] provider`` can name; made when it is chosen."""

    name: str
    make: Callable[[], Provider]


class AgentLoopHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_model_providers(self) -> Iterable[ModelProvider]:
        """What can answer prompts. A name is given once."""
        return ()
