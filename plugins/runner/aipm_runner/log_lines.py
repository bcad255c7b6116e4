"""Lines of a log as pages show them: plain text, and whether a line is the use of a tool."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aipm_core import Json

# Colours, cursor movements, titles of windows; then whatever is left of control characters.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_TOOL = re.compile(r"^(?:\S )?([A-Za-z][\w:.-]{0,60}\w):? (\{.*|\[.*)$", re.DOTALL)
_KINDS = {"stderr": "error", "runner": "runner", "tool": "tool"}


def shown(line: Mapping[str, Json]) -> dict[str, Json]:
    """Return a stored line with ``kind`` (text, tool, error, runner) and, of a tool, its name."""
    text = plain(str(line["text"]))
    kind = _KINDS.get(str(line["stream"]), "text")
    found = _TOOL.match(text) if kind in ("text", "tool") else None
    if found is None:
        return {**line, "text": text, "kind": kind}
    name, rest = found.groups()
    return {**line, "text": rest, "kind": "tool", "tool": name}


def plain(text: str) -> str:
    """Make text of what was written for a terminal: an overwritten line is what it was last."""
    text = _ESCAPES.sub("", text).rstrip("\r")
    return _CONTROLS.sub("", text.rpartition("\r")[2])
