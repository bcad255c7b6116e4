"""Arguments as people are shown them, and the digest that binds an answer to them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from aipm_core import Json

_TOKEN = "session_token"  # noqa: S105 - the argument's name  # nosec B105


def shown(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments without the token: that one is nobody's business."""
    return {name: value for name, value in arguments.items() if name != _TOKEN}


def canonical(value: Json) -> str:
    """Write JSON in one way only: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(arguments: Mapping[str, Json]) -> str:
    """Return the SHA-256 of the canonical arguments."""
    return sha256(canonical(shown(arguments)))


def sha256(text: str) -> str:
    """Return the digest of a text; half surrogates count as they are."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
