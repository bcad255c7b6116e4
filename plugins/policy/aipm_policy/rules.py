"""Rules of the settings, and what holds where no rule says anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from aipm_ui_gateway.api import Level

from aipm_core import AnyTool, Json
from aipm_policy.api import Decision, Inquiry, Verdict
from aipm_policy.config import Rule
from aipm_policy.digest import canonical


class Rulebook:
    """The rules in the order of the settings."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    def verdicts(self, inquiry: Inquiry) -> list[Verdict]:
        """Return the verdict of every rule that matches; the default if none does."""
        return list(self._matching(inquiry)) or [_default(inquiry.tool)]

    def _matching(self, inquiry: Inquiry) -> Iterator[Verdict]:
        for number, rule in enumerate(self._rules, start=1):
            if _matches(rule, inquiry):
                yield Verdict(
                    decision=rule.decision,
                    rule=f"rules[{number}] {rule.tool}",
                    level=rule.level,
                    message=rule.message,
                )


def level_of(tool: AnyTool) -> Level:
    """Say how much care a tool asks for, as far as its author tells."""
    if tool.read_only:
        return "INFO"
    return "CRITICAL" if tool.destructive else "WARN"


def _default(tool: AnyTool) -> Verdict:
    """Allow, except what the in-process agent could destroy something with."""
    if tool.audience == "ui" and tool.destructive:
        return Verdict(decision=Decision.REQUIRE_USER_CONFIRMATION, rule="default: destructive")
    return Verdict(decision=Decision.ALLOW, rule="default")


def _matches(rule: Rule, inquiry: Inquiry) -> bool:
    session = inquiry.session
    return (
        fnmatchcase(inquiry.tool.name, rule.tool)
        and _fits(rule.agent, session.agent_id if session else None)
        and _fits(rule.project, session.project_id if session else None)
        and _fits(rule.purpose, session.purpose if session else None)
        and all(
            name in inquiry.args and fnmatchcase(_text(inquiry.args[name]), pattern)
            for name, pattern in rule.arguments.items()
        )
    )


def _fits(pattern: str | None, value: str | None) -> bool:
    return pattern is None or (value is not None and fnmatchcase(value, pattern))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)
