"""Takes tokens and passkeys out of what a model says, also while it is still saying it."""

from __future__ import annotations

import json
import string
from typing import Any

from aipm_core import SECRET, redact

_START = "aipm_"
_LETTERS = string.ascii_letters + string.digits + "_-"


def redact_json(value: Any) -> Any:  # noqa: ANN401
    """Replace every token and passkey in a JSON value, names included."""
    text = json.dumps(value)
    return json.loads(redact(text)) if SECRET.search(text) else value


def settled(text: str) -> int:
    """Return how much of a text that grows can be told: the rest may become a secret."""
    word = len(text.rstrip(_LETTERS))
    begun = text.find(_START, word)
    if begun >= 0:
        return begun
    half = (n for n in range(len(_START), 0, -1) if text.endswith(_START[:n]))
    return len(text) - next(half, 0)
