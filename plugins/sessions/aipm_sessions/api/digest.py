"""What tells the arguments of one call from those of another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from aipm_core import Json


def arguments_digest(arguments: Mapping[str, Json], *, without: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 of the arguments as canonical JSON; the session token never counts.

    A tool that takes an idempotency key keeps it: the same key with another digest is a conflict.
    """
    left_out = {"session_token", *without}
    kept = {name: value for name, value in arguments.items() if name not in left_out}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
