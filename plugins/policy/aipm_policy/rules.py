"""Rules of the settings, and what holds where no rule says anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from aipm_core import AnyTool
from aipm_policy.api import Decision, Inquiry, Verdict
from aipm_policy.arguments import UNKNOWN, all_spellings, plain_spellings, value_of
from aipm_policy.config import Rule


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
                    elicitation=rule.elicitation,
                )


def _default(tool: AnyTool) -> Verdict:
    """Allow, except what the in-process agent could destroy something with."""
    if tool.audience == "in_process" and tool.destructive:
        return Verdict(decision=Decision.REQUIRE_USER_CONFIRMATION, rule="default: destructive")
    return Verdict(decision=Decision.ALLOW, rule="default")


def _matches(rule: Rule, inquiry: Inquiry) -> bool:
    session = inquiry.session
    return (
        fnmatchcase(inquiry.tool.name, rule.tool)
        and _fits(rule.agent, session.agent_id if session else None)
        and _fits(rule.project, session.project_id if session else None)
        and _fits(rule.purpose, session.purpose if session else None)
        and all(_sees(rule, inquiry, *wanted) for wanted in rule.arguments.items())
    )


def _sees(rule: Rule, inquiry: Inquiry, name: str, pattern: str) -> bool:
    """Return whether a rule's pattern fits an argument; in doubt yes, unless the rule allows."""
    value = value_of(inquiry.tool, inquiry.args, name)
    allows = rule.decision is Decision.ALLOW
    if value is UNKNOWN or (allows and value is None and name not in inquiry.args):
        return False
    spellings = plain_spellings(value) if allows else all_spellings(value)
    return any(fnmatchcase(text, pattern) for text in spellings)


def _fits(pattern: str | None, value: str | None) -> bool:
    return pattern is None or (value is not None and fnmatchcase(value, pattern))
