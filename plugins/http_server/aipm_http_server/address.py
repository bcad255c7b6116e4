"""A token has no place in an address: addresses stand in logs, histories and referrers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl, unquote

from aipm_core import SECRET

_NAMES = frozenset(
    {
        *("token", "access_token", "session_token", "ui_token", "api_key"),
        *("auth", "authorization", "bearer", "passkey"),
    }
)
_DEEPEST = 5  # escapes of escapes; nobody means more


def carries_secret(scope: Mapping[str, Any]) -> bool:
    """Return whether path or query hold a token, however escaped, or a name for one."""
    path, query = scope.get("raw_path") or scope["path"].encode(), scope.get("query_string", b"")
    if b"%" not in path and not query:
        return SECRET.search(path.decode("latin-1")) is not None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    if any(name.strip().lower() in _NAMES for name, _ in pairs):
        return True
    texts = (path.decode("latin-1"), query.decode("latin-1"), *chain.from_iterable(pairs))
    return any(map(_hides_secret, texts))


def _hides_secret(text: str) -> bool:
    for _ in range(_DEEPEST):
        if SECRET.search(text):
            return True
        plain = unquote(text, "latin-1")
        if plain == text:
            return False
        text = plain
    return True  # whatever it is, it is not meant to be read
