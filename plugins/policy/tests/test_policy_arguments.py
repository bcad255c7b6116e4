"""Rules about arguments: however a value is written, and also when it is left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from aipm_devkit.testing import TASK, running
from aipm_policy.api import POLICIES, Decision
from aipm_policy.plugin import Policy
from aipm_sessions.plugin import Sessions
from pydantic import ConfigDict, Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, Plugin, Request, Tool, hookimpl, tool


class Run(Arguments):
    model_config = ConfigDict(populate_by_name=True)

    command: str | list[Any] | dict[str, Any] = "true"
    path: str = "."
    names: list[str] = Field(default_factory=lambda: ["everybody"])
    to: list[str] | None = None
    spelled: str = Field(default="x", alias="otherwise")


class Runner(Plugin):
    """Tools with arguments of every kind; one is destructive, so that it is confirmed."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.run, access=Access.SESSION)
        yield Tool(
            name="wipe",
            description="Wipe.",
            run=self.run,
            arguments=Run,
            access=Access.SESSION,
            destructive=True,
            audience="in_process",
        )
        schema = {"properties": {"path": {"default": "secret"}, "to": {}, "any": True}}
        yield Tool(
            name="raw", description="Raw.", run=self.run, arguments=schema, access=Access.SESSION
        )

    async def run(self, call: Call, args: Run) -> Json:
        """Run."""
        return {}


async def code(rule: dict[str, Any], tool: str = "run", /, **arguments: Any) -> str:
    """Say how a call ends under one rule."""
    rules = [{"tool": "*", "decision": "DENY", **rule}]
    async with running(Sessions, Policy, Runner, policy={"rules": rules}) as aipm:
        request = Request(tool=tool, arguments=arguments, session=TASK, audience="in_process")
        reply = await aipm.runtime.call(request)
    return reply.error.code if reply.error else "ok"


RM: list[Json] = [
    "rm x",
    "rm -rf x y",
    ["rm", "x"],
    ["rm", "a b"],
    ["rm", 7],
    ["rm x"],
    [["rm", "x"]],
    {"program": "rm", "words": ["x"]},
    "  rm x",
    "rm\tx",
    "rm\nx",
    '"rm" x',
    "'rm' x",
    "r\\m x",
    'r""m x',
    "rm 'unfinished",
]


@pytest.mark.parametrize("command", RM, ids=repr)
@pytest.mark.parametrize("decision", ["DENY", "REQUIRE_USER_CONFIRMATION"])
async def test_a_rule_sees_a_command_however_it_is_written(command: Json, decision: str) -> None:
    refused = "denied_by_policy" if decision == "DENY" else "no_confirmer"
    rule = {"decision": decision, "arguments": {"command": "rm *"}}
    assert await code(rule, command=command) == refused


@pytest.mark.parametrize(
    "command", ["rm", "ls rm x", "farm x", ["ls", "rm x"], {"rm": "x"}, "rmdir x", []], ids=repr
)
async def test_and_no_other_command(command: Json) -> None:
    assert await code({"arguments": {"command": "rm *"}}, command=command) == "ok"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls x", "ok"),
        (["ls", "x"], "ok"),
        (["ls", "-l", "x"], "ok"),
        (["ls x", "y"], "no_confirmer"),
        (["ls", "x y"], "no_confirmer"),
        (["ls", "'x"], "no_confirmer"),
        (["ls", ""], "no_confirmer"),
        ([["ls"], "x"], "no_confirmer"),
        ('"ls" x', "no_confirmer"),
        ({"a": "ls", "b": "x"}, "no_confirmer"),
        (["rm", "ls x"], "no_confirmer"),
    ],
    ids=repr,
)
async def test_a_permission_is_for_what_is_written_plainly(command: Json, expected: str) -> None:
    rule = {"tool": "wipe", "decision": "ALLOW", "arguments": {"command": "ls *"}}
    assert await code(rule, "wipe", command=command) == expected


@pytest.mark.parametrize(
    ("tool", "argument", "pattern", "matches"),
    [
        ("run", "path", ".", True),
        ("run", "path", "secret*", False),
        ("run", "names", "*everybody*", True),
        ("run", "to", "*", True),
        ("run", "to", "null", True),
        ("run", "to", "*boss*", False),
        ("run", "otherwise", "x", True),
        ("run", "unknown", "*", False),
        ("raw", "path", "secret", True),
        ("raw", "to", "*", True),
        ("raw", "any", "null", True),
        ("raw", "unknown", "*", False),
    ],
)
async def test_an_argument_that_is_left_out_counts_with_its_default(
    tool: str, argument: str, pattern: str, matches: bool
) -> None:
    rule = {"tool": tool, "arguments": {argument: pattern}}
    assert await code(rule, tool) == ("denied_by_policy" if matches else "ok")


@pytest.mark.parametrize("given", ["spelled", "otherwise"])
@pytest.mark.parametrize("named", ["spelled", "otherwise"])
async def test_an_argument_is_known_by_all_its_names(given: str, named: str) -> None:
    rule = {"arguments": {named: "y"}}
    assert await code(rule, **{given: "y"}) == "denied_by_policy"
    assert await code(rule, **{given: "z"}) == "ok"


async def test_who_asks_in_advance_without_what_is_required_hears_the_strict_answer() -> None:
    class Strict(Arguments):
        word: str

    policy = {"rules": [{"tool": "*", "decision": "DENY", "arguments": {"word": "*"}}]}
    async with running(Sessions, Policy, Runner, policy=policy) as aipm:
        policies = aipm.runtime.services.use(POLICIES)
        asked = replace(aipm.runtime.catalog()[0], arguments=Strict)
        verdict = await policies.check_permission(asked, {}, None, None)
    assert verdict.decision is Decision.DENY


async def test_null_and_left_out_are_alike() -> None:
    for rule in ({"arguments": {"to": "*"}}, {"arguments": {"to": "null"}}):
        assert await code(rule, to=None) == await code(rule) == "denied_by_policy"


@pytest.mark.parametrize(
    ("argument", "pattern", "expected"),
    [("path", ".", "ok"), ("path", "x*", "no_confirmer"), ("to", "*", "no_confirmer")],
)
async def test_a_permission_needs_a_value_it_can_see(
    argument: str, pattern: str, expected: str
) -> None:
    rule = {"tool": "wipe", "decision": "ALLOW", "arguments": {argument: pattern}}
    assert await code(rule, "wipe") == expected
