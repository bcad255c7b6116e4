"""The header ``Idempotency-Key``, for every route alike."""

from __future__ import annotations

from collections.abc import Iterable

MAX_KEY_CHARACTERS = 200


def idempotency_key(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the key of a request; ``ValueError`` for one that is cut or could be another's."""
    keys = [value for name, value in headers if name == b"idempotency-key"]
    if not keys:
        return None
    text: str = keys[0].decode("utf-8", "replace").strip()
    plain = text.isprintable() and "\ufffd" not in text
    if len(keys) > 1 or not plain or not 1 <= len(text) <= MAX_KEY_CHARACTERS:
        raise ValueError(MAX_KEY_CHARACTERS)
    return text
