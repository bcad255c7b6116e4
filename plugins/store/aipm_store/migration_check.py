"""What a plugin's migration may touch: the tables of its own steps, and nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from aipm_core import Dialect, Migration, PluginError

_HIDDEN = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = r"(?:(?:main|public|temp)\s*\.\s*)?[\"`\[]?(\w+)[\"`\]]?"
_MADE = re.compile(
    rf"\bcreate\s+(?:temp(?:orary)?\s+|unlogged\s+)?(?:virtual\s+)?(?:table|view)\s+"
    rf"(?:if\s+not\s+exists\s+)?{_NAME}|\brename\s+to\s+{_NAME}",
    re.IGNORECASE,
)
_TOUCHED = re.compile(  # two letters first: most words of a text begin with none of these
    r"\b(?=al|de|dr|in|re|tr|up)(?:drop\s+(?:table|view)\s+(?:if\s+exists\s+)?"
    r"|alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?"
    r"|delete\s+from\s+(?:only\s+)?|insert\s+(?:or\s+\w+\s+)?into\s+|replace\s+into\s+"
    r"|truncate\s+(?:table\s+)?|update\s+(?:or\s+\w+\s+)?(?=[\"`\[]?\w+[\"`\]]?\s+set\b))" + _NAME,
    re.IGNORECASE,
)


def check(owner: str, migrations: Sequence[Migration], engine: Dialect) -> None:
    """Refuse a plugin of which a step changes a table that none of its steps makes."""
    texts = [(step.name, _HIDDEN.sub(" ", step.sql_for(engine))) for step in migrations]
    made = {name for _, text in texts for name in _names(_MADE.findall(text))}
    for step, text in texts:
        for touched in _names(_TOUCHED.findall(text)):
            if touched not in made:
                problem = f"migration {step} changes the table {touched!r}, which is not its own"
                raise PluginError(owner, problem)


def _names(found: Iterable[str | tuple[str, ...]]) -> list[str]:
    """Return the names among what an expression found, as a database compares them."""
    every = [name for one in found for name in ((one,) if isinstance(one, str) else one)]
    return [name.lower() for name in every if name]
