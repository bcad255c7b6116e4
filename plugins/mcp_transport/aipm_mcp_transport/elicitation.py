"""Asking a client's user: by a request to a legacy client, by a repeated call of a modern one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio

from aipm_core import Json
from aipm_mcp_transport.asking import Elicited, InputRequired, Question

ELICIT = "elicitation/create"
ASKED = "confirmation"  # the key of the one question a modern result carries
REPEATED_CALL_PARAMS = frozenset({"inputResponses", "requestState"})
_NO_ANSWER = Elicited(action="cancel")

Send: TypeAlias = Callable[[Mapping[str, Json]], Awaitable[None]]


class BackChannel:
    """Requests to legacy clients that wait for their responses."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], asyncio.Future[Elicited]] = {}

    async def ask(self, client: str, send: Send, question: Question) -> Elicited:
        """Send one request and await the response of the same client."""
        id = f"aipm-{secrets.token_hex(16)}"  # noqa: A001
        future: asyncio.Future[Elicited] = asyncio.get_running_loop().create_future()
        self._open[client, id] = future
        try:
            await send({"jsonrpc": "2.0", "id": id, "method": ELICIT, "params": form_of(question)})
            return await future
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await send(_withdrawn(id))
            raise
        finally:
            del self._open[client, id]

    def take(self, client: str, message: Mapping[str, Json]) -> bool:
        """Deliver a response to whoever waits for it; ``False`` if nobody does."""
        id = message.get("id")  # noqa: A001
        future = self._open.get((client, id)) if isinstance(id, str) else None
        if future is None:
            return False
        if not future.done():
            future.set_result(elicited_of(message.get("result")))
        return True


@dataclass(frozen=True, slots=True)
class OpenChannel:
    """The way to a legacy client's user: ask while the call waits."""

    channel: BackChannel
    client: str
    send: Send
    state: None = None

    async def ask(self, question: Question) -> Elicited:
        """Ask, and await the answer."""
        return await self.channel.ask(self.client, self.send, question)


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """The way to a modern client's user: end the call with the question, take the answer later."""

    state: str | None = None
    responses: Mapping[str, Json] = field(default_factory=dict[str, Json])

    async def ask(self, question: Question) -> Elicited:
        """Return the answer the call brought, or end it with the question."""
        if self.state != question.state or ASKED not in self.responses:
            raise InputRequired(question)
        return elicited_of(self.responses[ASKED])


def repeated_call_of(params: Mapping[str, Json], capabilities: Json) -> RepeatedCall | None:
    """Return the way to the user of a modern call that says its client has one."""
    if not can_elicit(capabilities):
        return None
    return RepeatedCall(params.get("requestState"), params.get("inputResponses") or {})


def is_repeated_call(params: Mapping[str, Json]) -> bool:
    """Return whether what a repeated call brings back has the right form."""
    state, responses = params.get("requestState"), params.get("inputResponses")
    return isinstance(state, str | None) and isinstance(responses, dict | None)


def can_elicit(capabilities: Json) -> bool:
    """Return whether a client shows forms to its user; ``{}`` means it does."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(elicitation, dict) and ("form" in elicitation or "url" not in elicitation)


def form_of(question: Question) -> dict[str, Json]:
    """Return the parameters of the request. No ``mode`` means form, also to older clients."""
    return {"message": question.message, "requestedSchema": dict(question.schema)}


def input_required(question: Question) -> dict[str, Json]:
    """Return the result that ends a modern call with a question."""
    form = {"mode": "form", **form_of(question)}
    return {
        "inputRequests": {ASKED: {"method": ELICIT, "params": form}},
        "requestState": question.state,
    }


def elicited_of(result: Json) -> Elicited:
    """Read an answer; an error, or what is no answer at all, is none."""
    if not isinstance(result, dict) or result.get("action") not in ("accept", "decline"):
        return _NO_ANSWER
    content = result.get("content")
    return Elicited(action=result["action"], content=content if isinstance(content, dict) else {})


def _withdrawn(id: str) -> dict[str, Json]:  # noqa: A002
    params = {"requestId": id, "reason": "answered elsewhere, or no longer needed"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
