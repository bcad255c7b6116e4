"""Small JSON answers, and the headers that every answer carries."""

from __future__ import annotations

from typing import Any

import orjson

SAFE_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


async def answer(
    send: Any,  # noqa: ANN401
    status: int,
    code: str,
    message: str,
    *,
    scope: Any = None,  # noqa: ANN401
) -> None:
    """Send ``{"error": {code, status, message}}``; refuse a WebSocket before it opens."""
    body = {"error": {"code": code, "status": status, "message": message}}
    await send_json(send, status, body, scope=scope)


async def send_json(
    send: Any,  # noqa: ANN401
    status: int,
    body: object,
    *,
    scope: Any = None,  # noqa: ANN401
) -> None:
    """Send one JSON body."""
    kind = "websocket.http.response" if scope and scope["type"] == "websocket" else "http.response"
    payload = orjson.dumps(body)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(payload)).encode()),
        *SAFE_HEADERS,
    ]
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": payload})
