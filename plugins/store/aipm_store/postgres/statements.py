"""The statements a write unit may use, looked at by their first word: PostgreSQL asks nobody."""

from __future__ import annotations

import re
from functools import lru_cache

from aipm_store.statement_guard import REFUSAL

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_TEXT_OR_COMMENT = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/""", re.DOTALL
)
_ALLOWED = frozenset({"select", "insert", "update", "delete", "with", "values"})
_SETTINGS = re.compile(
    r"\b(?:set_config|pg_advisory_unlock(?:_all)?|dblink\w*)\s*\(", re.IGNORECASE
)


@lru_cache(maxsize=2048)
def allowed(sql: str) -> str:
    """Return a text of statements if a unit may use all of them; refuse it otherwise."""
    bare = _TEXT_OR_COMMENT.sub(_without, sql)
    words = [statement.strip(" \t\r\n(").split(maxsplit=1) for statement in bare.split(";")]
    if any(word[0].lower() not in _ALLOWED for word in words if word) or _SETTINGS.search(bare):
        raise RuntimeError(REFUSAL)
    return sql


def _without(found: re.Match[str]) -> str:
    """Leave nothing of a comment, and of a text only that there is one."""
    return " " if _COMMENT.fullmatch(found[0]) else " '' "
