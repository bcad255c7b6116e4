"""Rules of the settings, and what holds where no rule says anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase

from aipm_core import AnyTool
from aipm_policy.api import Decision, Inquiry, Verdict
from aipm_policy.arguments import UNKNOWN, all_spellings, plain_spellings, value_of
from aipm_policy.config import Rule
from aipm_policy.defaults import ShippedRule
from aipm_policy.native_calls import COMMAND, PATH, Piece, is_native, paths_of, pieces_of, place_of
from aipm_policy.patterns import may_fit, surely_fits, word_may_fit


class Rulebook:
    """The rules in the order of the settings, and those that are shipped for native calls.

    A native line of several commands is judged command by command: each by the rules it matches,
    by the defaults only where it matches none.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        shipped: Sequence[ShippedRule] = (),
        made: Mapping[str, Rule] | None = None,
    ) -> None:
        self._rules = rules
        self._shipped = shipped
        named = {f"rules[{number}] {rule.tool}": rule for number, rule in enumerate(rules, start=1)}
        self._named = {**named, **(made or {})}

    def with_made(self, made: Mapping[str, Rule]) -> Rulebook:
        """Return these rules and others, which people made, by their names."""
        return Rulebook(self._rules, self._shipped, made)

    def verdicts(self, inquiry: Inquiry) -> list[Verdict]:
        """Return the verdict of every rule that matches; the default if none does."""
        found: list[Verdict] = []
        for piece in pieces_of(inquiry):
            found += list(self._matching(piece)) or [self._default(piece)]
        return found

    def _matching(self, piece: Piece) -> Iterator[Verdict]:
        for name, rule in self._named.items():
            if matches(rule, piece):
                yield verdict_of(rule, name)

    def _default(self, piece: Piece) -> Verdict:
        """Return what the first default that fits says."""
        tool = piece.inquiry.tool
        if is_native(piece.inquiry):
            for rule in self._shipped:
                if matches(rule, piece):
                    return verdict_of(rule, f"default: {rule.name}")
        return _default(tool)


def is_default(verdict: Verdict) -> bool:
    """Return whether a verdict comes from no rule that anybody made."""
    return verdict.rule == "default" or verdict.rule.startswith("default: ")


def verdict_of(rule: Rule, name: str) -> Verdict:
    """Return what a rule says."""
    return Verdict(
        decision=rule.decision,
        rule=name,
        level=rule.level,
        message=rule.message,
        elicitation=rule.elicitation and rule.approvers == 1,
        approvers=rule.approvers,
        seconds=rule.confirmation_seconds,
    )


def _default(tool: AnyTool) -> Verdict:
    """Allow, except what the in-process agent could destroy something with."""
    if tool.audience == "in_process" and tool.destructive:
        return Verdict(decision=Decision.REQUIRE_USER_CONFIRMATION, rule="default: destructive")
    return Verdict(decision=Decision.ALLOW, rule="default")


def matches(rule: Rule, piece: Piece) -> bool:
    """Return whether a rule speaks of a call, or of one command of it."""
    inquiry, session = piece.inquiry, piece.inquiry.session
    return (
        fnmatchcase(inquiry.tool.name, rule.tool)
        and _fits(rule.agent, session.agent_id if session else None)
        and _fits(rule.project, session.project_id if session else None)
        and _fits(rule.purpose, session.purpose if session else None)
        and _is_time(rule.between, inquiry.at)
        and rule.unreadable in (None, piece.unreadable)
        and _is_place(rule, piece)
        and all(_sees(rule, piece, name) for name in rule.arguments)
    )


def _is_time(between: str | None, at: float) -> bool:
    if between is None:
        return True
    start, _, end = between.partition("-")
    now = f"{datetime.fromtimestamp(at).astimezone():%H:%M}"
    return start <= now < end if start < end else now >= start or now < end


def _is_place(rule: Rule, piece: Piece) -> bool:
    """Compare places; where nobody knows, a rule that allows does not fit and another does."""
    if rule.place is None:
        return True
    if not is_native(piece.inquiry):
        return False
    place = place_of(piece)
    return rule.decision is not Decision.ALLOW if place is None else place == rule.place


def _sees(rule: Rule, piece: Piece, name: str) -> bool:
    """Return whether a rule's patterns fit an argument; in doubt yes, unless the rule allows."""
    wanted = rule.arguments[name]
    patterns = (wanted,) if isinstance(wanted, str) else wanted
    if piece.part is not None and name == COMMAND:
        return any(_sees_command(rule, piece, pattern) for pattern in patterns)
    if piece.part is not None and name == PATH:
        return _sees_words(rule, piece, patterns)
    if piece.unreadable and name in (COMMAND, PATH):
        return rule.decision is not Decision.ALLOW
    return any(_sees_value(rule, piece.inquiry, name, pattern) for pattern in patterns)


def _sees_command(rule: Rule, piece: Piece, pattern: str) -> bool:
    assert piece.part is not None  # noqa: S101 - asked for commands only  # nosec B101
    if rule.decision is Decision.ALLOW:
        return surely_fits(piece.part, pattern)
    return may_fit(piece.part, pattern) or _sees_value(rule, piece.inquiry, COMMAND, pattern)


def _sees_words(rule: Rule, piece: Piece, patterns: Sequence[str]) -> bool:
    """Look for files among a command's words. No word says that a command touches nothing else."""
    if rule.decision is Decision.ALLOW:
        return False
    certain = isinstance(rule, ShippedRule)
    return any(
        fnmatchcase(word.text, pattern) if certain else word_may_fit(word, pattern)
        for word in paths_of(piece)
        for pattern in patterns
    )


def _sees_value(rule: Rule, inquiry: Inquiry, name: str, pattern: str) -> bool:
    value = value_of(inquiry.tool, inquiry.args, name)
    allows = rule.decision is Decision.ALLOW
    if value is UNKNOWN or (allows and value is None and name not in inquiry.args):
        return False
    spellings = plain_spellings(value) if allows else all_spellings(value)
    return any(fnmatchcase(text, pattern) for text in spellings)


def _fits(pattern: str | None, value: str | None) -> bool:
    return pattern is None or (value is not None and fnmatchcase(value, pattern))
