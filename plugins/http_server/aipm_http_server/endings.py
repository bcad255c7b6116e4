"""How connections end: with a refusal, or because the server does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

logger = logging.getLogger(__name__)


def answer_and_close(transport: asyncio.Transport, status: int, code: str, message: str) -> None:
    """Answer on a bare connection in the form of every other refusal, and close it."""
    content = orjson.dumps({"error": {"code": code, "status": status, "message": message}})
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    transport.write(STATUS_LINE[status] + head % len(content) + content)
    transport.close()


def close_or_drop(close: Callable[[], None], transport: asyncio.Transport) -> None:
    """Close a connection; one that cannot be closed in order must not keep the others open."""
    try:
        close()
    except Exception as error:  # noqa: BLE001 - whatever state it was in, it ends here
        logger.warning("dropped a connection that could not be closed: %r", error)
        transport.abort()
