"""Patterns of policy rules against names and arguments, and the digest an answer is bound to."""

import json
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from aipm_policy.config import Rule
from aipm_policy.digest import canonical, digest
from aipm_policy.native_calls import Piece
from aipm_policy.rules import matches as rule_matches
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
    "'rm'  -rf\t/",
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


def matches(case: Case, decision: str = "DENY") -> bool:
    rule = Rule.model_validate(
        {
            "tool": case.tool_pattern,
            "decision": decision,
            "arguments": {"path": case.argument_pattern},
        }
    )
    schema: dict[str, Any] = {"properties": {"path": {}}}
    tool = SimpleNamespace(name=case.tool, arguments=schema, audience="agent")
    inquiry: Any = SimpleNamespace(tool=tool, session=None, args=case.arguments, at=0.0)
    return rule_matches(rule, Piece(inquiry=inquiry))


def leaves(value: Any) -> list[str]:
    """List what stands in a value, from left to right."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [word for item in value for word in leaves(item)]
    return [value if isinstance(value, str) else canonical(value)]


def bare(line: str) -> str:
    """Write a line without quoting, one space between its words, letter by letter."""
    said = ""
    for letter in line:
        if letter in "\"'\\":
            continue
        if not letter.isspace():
            said += letter
        elif said and not said.endswith(" "):
            said += " "
    return said.removesuffix(" ")


def check_rules(case: Case, denies: bool, allows: bool) -> None:
    value = case.arguments.get("path")
    text = value if isinstance(value, str) else canonical(value)
    line = " ".join(leaves(value))
    named = globbed(case.tool, case.tool_pattern)
    denied = any(globbed(one, case.argument_pattern) for one in (text, line, bare(line)))
    assert denies == (named and denied)
    plainly = [text, line] if is_plain(value) else [text]
    allowed = any(globbed(one, case.argument_pattern) for one in plainly)
    assert allows == (named and "path" in case.arguments and allowed)


def is_plain(value: Any) -> bool:
    """Return whether a list is words that need no quoting."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(word, str) and word and bare(word) == word.replace(" ", "_") for word in value
    )


def check(case: Case) -> None:
    denies, allows = matches(case), matches(case, "ALLOW")
    if "[" not in case.tool_pattern + case.argument_pattern:
        check_rules(case, denies, allows)
    assert denies >= allows, "whatever can be allowed could have been denied"
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
        if choices.once_in(3):
            arguments["path"] = [choices.pick(NAMES), arguments["path"]]
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
