"""Patterns of policy rules against names and arguments, and the digest an answer is bound to."""

import json
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from aipm_policy.config import Rule
from aipm_policy.digest import canonical, digest
from aipm_policy.rules import _matches
from hypothesis import strategies as st

from tests.fuzz.choices import Choices
from tests.fuzz.shapes import WILD
from tests.fuzz.target import Target

PATTERNS = (
    *("*", "?", "a", "file:*", "*:read", "a*b", "**", "[ab]*", "[!a]", "[", "[]", "a?b*", "*rm*"),
    *("*/../*", "\\*", ".", "^a$", "a|b", "(a", "*\n*", "あ*"),
)
NAMES = (
    "file:read",
    "file:list",
    "a",
    "ab",
    "aXb",
    "",
    "a\nb",
    "rm -rf /",
    "[",
    "a|b",
    "あい",
    "^a$",
)


class Case(NamedTuple):
    """One rule, one call."""

    tool_pattern: str
    argument_pattern: str
    tool: str
    arguments: dict[str, Any]


def globbed(text: str, pattern: str) -> bool:
    """Match ``*`` and ``?`` the obvious way, with a table."""
    reach = [True] + [False] * len(text)
    for sign in pattern:
        if sign == "*":
            for at in range(1, len(text) + 1):
                reach[at] = reach[at] or reach[at - 1]
            continue
        reach = [False] + [reach[at] and sign in ("?", text[at]) for at in range(len(text))]
    return reach[-1]


def matches(case: Case) -> bool:
    rule = Rule.model_validate(
        {
            "tool": case.tool_pattern,
            "decision": "DENY",
            "arguments": {"path": case.argument_pattern},
        }
    )
    inquiry: Any = SimpleNamespace(
        tool=SimpleNamespace(name=case.tool), session=None, args=case.arguments
    )
    return _matches(rule, inquiry)


def check(case: Case) -> None:
    matched = matches(case)
    if "[" not in case.tool_pattern + case.argument_pattern:
        value = case.arguments.get("path")
        text = value if isinstance(value, str) else canonical(value)
        assert matched == (
            globbed(case.tool, case.tool_pattern)
            and "path" in case.arguments
            and globbed(text, case.argument_pattern)
        )
    written = canonical(case.arguments)
    assert canonical(json.loads(written)) == written
    backwards = dict(reversed(case.arguments.items()))
    assert digest({**backwards, "session_token": "t"}) == digest(case.arguments)
    assert digest({**case.arguments, "more!": 1}) != digest(case.arguments)


def read(data: bytes) -> Case:
    choices = Choices(data)
    arguments = {choices.text(): choices.value() for _ in range(choices.byte() % 3)}
    if not choices.once_in(6):
        arguments["path"] = choices.pick(NAMES) if not choices.once_in(4) else choices.value()
    arguments.pop("session_token", None)
    return Case(choices.pick(PATTERNS), choices.pick(PATTERNS), choices.pick(NAMES), arguments)


def long_argument(pattern: str, size: int) -> Case:
    return Case("*", pattern, "a", {"path": "a" * size})


LOOPS = ("*", "*a*a*a*a*b", "*" * 20 + "b", "a*a*a*a*a*a*a*b", "*[ab]*[ab]*c", "?*?*?*b")
TARGET = Target[Case](
    read=read,
    check=check,
    values=st.builds(
        Case,
        st.sampled_from(PATTERNS) | st.text("*?ab", max_size=6),
        st.sampled_from(PATTERNS) | st.text("*?ab", max_size=6),
        st.sampled_from(NAMES) | st.text("ab:", max_size=8),
        st.dictionaries(st.just("path") | st.text(max_size=3), WILD, max_size=3),
    ),
    parse=matches,
    grown={pattern: partial(long_argument, pattern) for pattern in LOOPS},
    longest=80,
)
