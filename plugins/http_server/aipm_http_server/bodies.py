"""How long a body may be: short as long as we do not know who is talking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from aipm_http_server.strict_json import LARGEST_BODY, LARGEST_OF_STRANGERS

_MOST_DIGITS = len(str(LARGEST_BODY))


class BodyTooLarge(Exception):
    """The message says how much is allowed, and to whom."""


class Bounded:
    """Counts the bytes of a body as they come; asks for the caller only when there are many."""

    def __init__(self, receive: Any, is_known: Callable[[], Awaitable[bool]]) -> None:  # noqa: ANN401
        self._receive = receive
        self._is_known = is_known
        self._size = 0
        self._limit = LARGEST_OF_STRANGERS

    async def __call__(self) -> Any:  # noqa: ANN401
        """Return the next piece."""
        message = await self._receive()
        self._size += len(message.get("body", b""))
        await self.allow(self._size)
        return message

    async def allow(self, size: int) -> None:
        """Refuse so many bytes, if they are too many for this caller."""
        if size > self._limit and await self._is_known():
            self._limit = LARGEST_BODY
        if size > self._limit:
            raise BodyTooLarge(too_large(self._limit))


def too_large(limit: int = LARGEST_BODY) -> str:
    """Say what would be allowed."""
    if limit == LARGEST_BODY:
        return f"the body exceeds {LARGEST_BODY} bytes"
    return (
        f"the body exceeds {limit} bytes: more, up to {LARGEST_BODY}, needs a valid token "
        "in the header Authorization: Bearer …"
    )


def announced(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the longest length that the headers announce."""
    return max((_length(value) for name, value in headers if name == b"content-length"), default=0)


def _length(text: bytes) -> int:
    digits = text.lstrip(b"0")
    if not digits.isdigit():
        return 0
    # Python refuses to read thousands of them.
    return int(digits) if len(digits) <= _MOST_DIGITS else LARGEST_BODY + 1
