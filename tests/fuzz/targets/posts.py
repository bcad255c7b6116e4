"""MCP over HTTP: headers and body in pieces; answered here, or handed on exactly as they came."""

from functools import cache
from typing import Any, NamedTuple

import orjson
from aipm_mcp_transport.fastlane import FastLane
from aipm_mcp_transport.http import McpEndpoint
from aipm_mcp_transport.protocol import VERSION_KEY
from hypothesis import strategies as st

from tests.fuzz.awaiting import awaited
from tests.fuzz.choices import Choices
from tests.fuzz.rpc import (
    MESSAGE,
    TOOLS,
    check_answer,
    is_plain_id,
    parsed,
    stand_in_gateway,
    written,
)
from tests.fuzz.shapes import shaped
from tests.fuzz.target import Target

FIELDS: dict[bytes, tuple[bytes, ...]] = {
    b"content-type": (b"application/json", b"application/json; charset=utf-8", b"text/plain", b""),
    b"accept": (b"application/json, text/event-stream", b"*/*", b"text/html"),
    b"mcp-protocol-version": (b"2025-06-18", b"2026-07-28", b"x"),
    b"mcp-method": (b"tools/call", b"ping"),
    b"mcp-name": (b"echo", b"refuse", b"\xff"),
    b"mcp-session-id": (b"s1", b""),
    b"authorization": (b"Bearer abc", b"Basic x"),
}


class Post(NamedTuple):
    """One request as a server hands it over."""

    headers: list[tuple[bytes, bytes]]
    body: bytes
    piece: int
    leaves: bool = False


class Exchange:
    """Plays the server for one request, and the SDK for what is handed on."""

    def __init__(self, post: Post) -> None:
        step = max(1, post.piece)
        pieces = [post.body[at : at + step] for at in range(0, len(post.body), step)] or [b""]
        self._left = [
            {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
            for number, piece in enumerate(pieces, 1)
        ][::-1]
        if post.leaves:
            self._left = self._left[1:]
        self.sent: list[dict[str, Any]] = []
        self.handed_on: list[bytes] = []

    async def receive(self) -> dict[str, Any]:
        return self._left.pop() if self._left else {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def sdk(self, scope: Any, receive: Any, send: Any) -> None:
        self.handed_on.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 202, "headers": []})


async def nobody(_: str) -> bool:
    return False


@cache
def lane() -> FastLane:
    gateway, calls, server_info = stand_in_gateway()
    return FastLane(gateway, calls, server_info, 60.0)


async def carry(post: Post) -> Exchange:
    exchange = Exchange(post)
    endpoint = McpEndpoint(lane(), exchange.sdk, nobody, stateless=True)
    scope = {"type": "http", "method": "POST", "headers": post.headers}
    await endpoint(scope, exchange.receive, exchange.send)
    return exchange


def status_of(post: Post) -> int | None:
    """Say with which refusal a request must end; ``None`` if it is good enough to be looked at."""
    kinds = dict(post.headers).get(b"content-type", b"").lower().split(b",")
    if {kind.split(b";")[0].strip() for kind in kinds} != {b"application/json"}:
        return 415
    message, is_json = parsed(post.body)
    if not is_json or not isinstance(message, dict):
        return 400
    if message.get("jsonrpc") != "2.0" or not message.keys() & {"method", "result", "error"}:
        return 400
    if "method" not in message:
        return None
    odd_id = "id" in message and not is_plain_id(message["id"])
    odd_params = not isinstance(message.get("params"), dict | None)
    return 400 if odd_id or odd_params or not isinstance(message["method"], str) else None


def check(post: Post) -> None:
    exchange = awaited(carry(post))
    assert not lane()._open
    status = status_of(post)
    if post.leaves and status != 415:
        assert not exchange.sent
        assert not exchange.handed_on
        return
    assert [part["type"] for part in exchange.sent].count("http.response.start") == 1
    if exchange.handed_on:
        assert exchange.handed_on == [post.body]
        assert status is None
        return
    check_own(post, exchange, status)


def check_own(post: Post, exchange: Exchange, status: int | None) -> None:
    start, body = exchange.sent
    assert dict(start["headers"])[b"content-length"] == b"%d" % len(body["body"])
    answer = orjson.loads(body["body"])
    check_answer(answer)
    if status is not None:
        assert (start["status"], answer["id"]) == (status, None)
        return
    message, _ = parsed(post.body)
    assert message["method"] == "tools/call"
    assert repr(answer["id"]) == repr(message["id"])
    assert message["params"]["name"] in TOOLS
    names = [name for name, _ in post.headers]
    assert len(set(names)) == len(names), "what comes twice has no meaning"
    modern = VERSION_KEY in (message["params"].get("_meta") or {})
    assert modern == (dict(post.headers).get(b"mcp-protocol-version") == b"2026-07-28")


def read(data: bytes) -> Post:
    choices = Choices(data)
    piece, leaves = choices.pick((4096, 4096, 16, 1)), choices.once_in(32)
    fields = [
        (name, choices.bytes(12) if choices.once_in(12) else choices.pick(values))
        for name, values in FIELDS.items()
        if not choices.once_in(6)
    ]
    if choices.once_in(10):
        fields.append(choices.pick(fields or [(b"accept", b"*/*")]))
    if choices.once_in(8):
        return Post(fields, choices.bytes(64), piece, leaves)
    return Post(fields, written(choices.shaped(MESSAGE)), piece, leaves)


HEADERS = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in FIELDS.items()}
).map(lambda made: list(made.items()))
TARGET = Target[Post](
    read=read,
    check=check,
    values=st.builds(
        Post,
        HEADERS,
        shaped(MESSAGE).map(written),
        st.integers(1, 200),
        st.sampled_from((False, False, False, True)),
    ),
    parse=lambda post: awaited(carry(post)),
    grown={
        "pieces": lambda size: Post(
            [(b"content-type", b"application/json")], b'"' + b"x" * size + b'"', 64
        ),
        "arguments": lambda size: Post(
            [(b"content-type", b"application/json"), (b"accept", b"*/*")],
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"'
            + b"x" * size
            + b'"}}}',
            64 * 1024,
        ),
    },
    longest=100,
)
