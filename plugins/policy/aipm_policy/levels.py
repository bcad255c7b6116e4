"""How much care a call asks for: ``INFO`` < ``WARN`` < ``CRITICAL``."""

from __future__ import annotations

from aipm_ui_gateway.api import Level

from aipm_core import AnyTool
from aipm_policy.api import Verdict

_ORDER: dict[str, int] = {"INFO": 0, "WARN": 1, "CRITICAL": 2}


def level_of(tool: AnyTool) -> Level:
    """Return how much care a tool asks for, as far as its author tells."""
    if tool.read_only:
        return "INFO"
    return "CRITICAL" if tool.destructive else "WARN"


def level_for(tool: AnyTool, verdict: Verdict) -> Level:
    """Return how loudly a person is asked: as the verdict says, else as the tool itself is."""
    return verdict.level or level_of(tool)


def height(level: str) -> int:
    """Place a level in the order; what is none counts as the highest."""
    return _ORDER.get(level, len(_ORDER))
