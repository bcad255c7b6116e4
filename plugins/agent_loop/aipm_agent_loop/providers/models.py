"""Answers from a model, through pydantic-ai: OpenAI-compatible, Anthropic, Google, Ollama.

The library is imported when the first prompt comes: no other command pays for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from aipm_agent_loop.api import (
    AssistantMessage,
    Message,
    Part,
    Prompt,
    TextDelta,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from aipm_agent_loop.config import AgentLoopConfig
from aipm_core import ConfigError, Json, new_id

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, UserContent
    from pydantic_ai.models import Model


def check(config: AgentLoopConfig) -> None:
    """Say in one sentence what is missing before a model can be used."""
    if find_spec("pydantic_ai") is None:
        raise ConfigError(
            "[plugins.agent_loop] provider = 'pydantic_ai' needs more packages: "
            "pip install 'aipm-runtime[models]'"
        )
    if not config.model or ":" not in config.model:
        raise ConfigError(
            "[plugins.agent_loop] provider = 'pydantic_ai' needs model = 'PROVIDER:NAME', such as "
            "'anthropic:claude-sonnet-4-5', 'openai-chat:gpt-5' or 'ollama:qwen3'"
        )
    if config.api_key_env and not os.environ.get(config.api_key_env):
        raise ConfigError(
            f"[plugins.agent_loop] api_key_env = {config.api_key_env!r}: "
            "the environment has no such variable"
        )


class PydanticAi:
    """The provider ``pydantic_ai``."""

    def __init__(self, config: AgentLoopConfig, model: Model | None = None) -> None:
        self._config = config
        self._model = model
        self._loading = anyio.Lock()
        self._open = AsyncExitStack()

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Part]:
        """Stream one response of the model."""
        model = await self._loaded()
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import (
            PartDeltaEvent,
            PartStartEvent,
            TextPart,
            TextPartDelta,
        )
        from pydantic_ai.models import ModelRequestParameters

        names = _Names(prompt.tools)
        wanted = ModelRequestParameters(function_tools=[names.definition(t) for t in prompt.tools])
        messages = list(_messages(prompt, names))
        async with model_request_stream(model, messages, model_request_parameters=wanted) as stream:
            async for event in stream:
                match event:
                    case PartStartEvent(part=TextPart(content=text)) if text:
                        yield TextDelta(text)
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                        yield TextDelta(text)
            response = stream.get()
        for call in _calls(response, names):
            yield call
        yield Usage(response.usage.total_tokens)

    async def aclose(self) -> None:
        """Close the connections to the model."""
        await self._open.aclose()

    async def _loaded(self) -> Model:
        async with self._loading:
            if self._model is None:
                # The import takes a second; sessions that need no model should not feel it.
                model = await anyio.to_thread.run_sync(_load, self._config)
                self._model = await self._open.enter_async_context(model)
            return self._model


def _load(config: AgentLoopConfig) -> Model:
    from aipm_cli.api import hide_secret
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider, infer_provider_class

    given: dict[str, Any] = {}
    if config.base_url:
        given["base_url"] = config.base_url
    if config.api_key_env:
        given["api_key"] = os.environ.get(config.api_key_env, "")
        hide_secret(given["api_key"])  # many an API repeats the key it refuses
    if not given:
        return infer_model(config.model or "", infer_provider)
    return infer_model(config.model or "", lambda name: infer_provider_class(name)(**given))


class _Names:
    """Tool names as models take them: ``file:read`` is ``file_read`` there."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._outside: dict[str, str] = {}
        self._inside: dict[str, str] = {}
        for tool in tools:
            name = tool.name.replace(":", "_")
            while name in self._inside:
                name += "_"
            self._outside[tool.name] = name
            self._inside[name] = tool.name

    def outside(self, name: str) -> str:
        return self._outside.get(name, name.replace(":", "_"))

    def inside(self, name: str) -> str:
        return self._inside.get(name, name)

    def definition(self, tool: ToolSpec) -> Any:  # noqa: ANN401
        from pydantic_ai.tools import ToolDefinition

        return ToolDefinition(
            name=self.outside(tool.name),
            description=tool.description,
            parameters_json_schema=dict(tool.schema),
        )


def _messages(prompt: Prompt, names: _Names) -> Iterable[ModelMessage]:
    """Put the history into the library's form; neighbours of one side become one message."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart

    requests: list[ModelRequestPart] = []
    for message in prompt.messages:
        if not isinstance(message, AssistantMessage):
            requests.append(_request_part(message, names))
            continue
        if requests:
            yield ModelRequest(parts=requests, instructions=prompt.instructions)
            requests = []
        parts: list[Any] = [TextPart(content=message.text)] if message.text else []
        parts += [
            ToolCallPart(tool_name=names.outside(c.name), args=dict(c.args), tool_call_id=c.id)
            for c in message.calls
        ]
        yield ModelResponse(parts=parts)
    if requests:
        yield ModelRequest(parts=requests, instructions=prompt.instructions)


def _request_part(message: Message, names: _Names) -> ModelRequestPart:
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart

    if isinstance(message, ToolMessage):
        content = message.reply if isinstance(message.reply, str) else _text(message.reply)
        return ToolReturnPart(
            tool_name=names.outside(message.name), content=content, tool_call_id=message.call_id
        )
    if not isinstance(message, UserMessage):
        raise TypeError(f"{type(message).__name__} is not part of a request")
    return UserPromptPart(content=_user_content(message) if message.images else message.text)


def _user_content(message: UserMessage) -> list[UserContent]:
    from base64 import b64decode

    from pydantic_ai.messages import BinaryContent

    pictures: list[UserContent] = [
        BinaryContent(data=b64decode(image.data), media_type=image.mime_type)
        for image in message.images
    ]
    return [message.text, *pictures] if message.text else pictures


def _calls(response: ModelResponse, names: _Names) -> Iterable[ToolCall]:
    from pydantic_ai.messages import ToolCallPart

    for part in response.parts:
        if isinstance(part, ToolCallPart):
            # Ids of models repeat between responses; ours must be unique in the conversation.
            # Arguments that are no object come marked as such; the tool's own check refuses them.
            args = part.args_as_dict()
            yield ToolCall(id=new_id("call"), name=names.inside(part.tool_name), args=args)


def _text(reply: Json) -> str:
    return json.dumps(reply, ensure_ascii=False)
