"""Rules, policies of other plugins, and every way into a tool."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from aipm_devkit.testing import CHAT, TASK, TestRuntime, running
from aipm_policy.api import Decision, Inquiry, PolicyCheck, Verdict
from aipm_policy.plugin import Policy
from aipm_sessions.plugin import Sessions

from aipm_core import Access, AnyTool, Arguments, Call, Json, Plugin, PluginContext, hookimpl, tool
from aipm_core.errors import PluginError


class Say(Arguments):
    text: str = ""
    count: int = 0


class Parrot(Plugin):
    """Tools that remember that they ran."""

    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.ran: list[str] = []

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.parrot, access=Access.SESSION)
        yield tool(self.parrot_quietly, access=Access.SESSION, read_only=True)

    async def parrot(self, call: Call, args: Say) -> Json:
        """Say it again."""
        return {"said": args.text}

    async def parrot_quietly(self, call: Call, args: Say) -> Json:
        """Think it again."""
        return {"thought": args.text}


def rule(decision: str, tool: str = "parrot", **more: Any) -> dict[str, Any]:
    return {"tool": tool, "decision": decision, **more}


async def codes(aipm: TestRuntime, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    replies = [await aipm.call(name, TASK, **args) for name, args in calls]
    return [reply.error.code if reply.error else "ok" for reply in replies]


async def test_what_no_rule_speaks_about_is_allowed() -> None:
    async with running(Sessions, Policy, Parrot) as aipm:
        reply = await aipm.call("parrot", text="hi")
    assert reply.result == {"said": "hi"}


@pytest.mark.parametrize("locale", ["ja", "en"])
async def test_a_denial_says_why_and_the_tool_does_not_run(locale: Any) -> None:
    rules = [rule("DENY", "parrot_*", message="静かに"), rule("DENY")]
    async with running(Sessions, Policy, Parrot, locale=locale, policy={"rules": rules}) as aipm:
        quiet = await aipm.call("parrot_quietly")
        loud = await aipm.call("parrot")
    assert quiet.error is not None
    assert loud.error is not None
    assert (quiet.error.code, quiet.error.status) == ("denied_by_policy", 403)
    assert quiet.error.message == "静かに"
    assert "parrot" in loud.error.message


async def test_rules_look_at_agent_purpose_project_and_arguments() -> None:
    rules = [
        rule("DENY", agent="agent-b"),
        rule("DENY", purpose="chat"),
        rule("DENY", project="q*"),
        rule("DENY", arguments={"text": "*rm -rf*"}),
        rule("DENY", arguments={"count": "7"}),
        rule("DENY", arguments={"missing": "*"}),
    ]
    async with running(Sessions, Policy, Parrot, policy={"rules": rules}) as aipm:
        assert await codes(
            aipm,
            ("parrot", {"text": "hello"}),
            ("parrot", {"text": "a\nrm -rf /\nb"}),
            ("parrot", {"count": 7}),
            ("parrot", {"count": 77}),
        ) == ["ok", "denied_by_policy", "denied_by_policy", "ok"]
        in_chat = await aipm.call("parrot", CHAT)
    assert in_chat.error is not None


@pytest.mark.parametrize(
    "decisions", [*itertools.permutations(["ALLOW", "REQUIRE_USER_CONFIRMATION", "DENY"], 2)]
)
async def test_the_most_restrictive_rule_wins_in_any_order(decisions: tuple[str, ...]) -> None:
    async with running(
        Sessions, Policy, Parrot, policy={"rules": [rule(d) for d in decisions]}
    ) as aipm:
        reply = await aipm.call("parrot")
    # Nobody in this project can confirm, so a question ends at once.
    expected = "denied_by_policy" if "DENY" in decisions else "no_confirmer"
    assert reply.error is not None
    assert reply.error.code == expected


def policies(*checks: Any) -> type[Plugin]:
    class Extra(Plugin):
        @hookimpl
        def aipm_policies(self) -> Iterable[PolicyCheck]:
            for number, check in enumerate(checks):
                yield PolicyCheck(name=f"extra-{number}", check=check)

    return Extra


async def allows(inquiry: Inquiry) -> Verdict:
    return Verdict(decision=Decision.ALLOW, rule="extra")


async def has_no_opinion(inquiry: Inquiry) -> None:
    return None


async def denies(inquiry: Inquiry) -> Verdict:
    assert inquiry.principal == "agent-a"
    assert inquiry.args == {"text": "x"}
    return Verdict(decision=Decision.DENY, rule="extra", message="no")


async def asks(inquiry: Inquiry) -> Verdict:
    return Verdict(decision=Decision.REQUIRE_USER_CONFIRMATION, rule="extra")


async def raises(inquiry: Inquiry) -> Verdict:
    raise OSError("secret detail")


async def hangs(inquiry: Inquiry) -> Verdict:
    await anyio.sleep_forever()
    raise AssertionError


async def talks_nonsense(inquiry: Inquiry) -> Any:
    return {"decision": "ALLOW"}


async def decides_nonsense(inquiry: Inquiry) -> Any:
    return Verdict(decision="ALLOW", rule="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("checks", "code"),
    [
        ((allows,), "ok"),
        ((has_no_opinion,), "ok"),
        ((allows, denies), "denied_by_policy"),
        ((denies, allows), "denied_by_policy"),
        ((asks, allows), "no_confirmer"),
        ((asks, denies), "denied_by_policy"),
    ],
)
async def test_other_plugins_policies_count_too(checks: tuple[Any, ...], code: str) -> None:
    async with running(Sessions, Policy, Parrot, policies(*checks)) as aipm:
        assert await codes(aipm, ("parrot", {"text": "x", "session_token": "s-task"})) == [code]


async def test_two_policies_of_one_name_stop_the_start() -> None:
    class Twice(Plugin):
        @hookimpl
        def aipm_policies(self) -> Iterable[PolicyCheck]:
            return [PolicyCheck(name="same", check=allows)] * 2

    with pytest.raises(PluginError, match=r"plugin 'twice': .*policy 'same' is added twice"):
        async with running(Sessions, Policy, Twice):
            pass


@pytest.mark.parametrize("broken", [raises, hangs, talks_nonsense, decides_nonsense])
async def test_a_broken_policy_denies(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with running(
        Sessions, Policy, Parrot, policies(allows, broken), policy={"check_seconds": 0.05}
    ) as aipm:
        with anyio.fail_after(5):
            reply = await aipm.call("parrot")
        assert reply.error is not None
        assert reply.error.code == "denied_by_policy"
        assert "policy_error" in reply.error.message
        assert "secret detail" not in reply.error.message
        assert "extra-1" in caplog.text
        assert "policy extra-1 of plugin extra " in caplog.text


async def test_a_policy_that_ignores_its_end_holds_nobody_up() -> None:
    released = asyncio.Event()

    async def stubborn(inquiry: Inquiry) -> None:
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()

    async with running(
        Sessions, Policy, Parrot, policies(stubborn), policy={"check_seconds": 0.05}
    ) as aipm:
        with anyio.fail_after(5):
            assert await codes(aipm, ("parrot", {})) == ["denied_by_policy"]
        released.set()


async def test_patterns_of_rules_stay_fast_on_hostile_arguments() -> None:
    rules = [rule("DENY", arguments={"text": "*a*b*c*d*e*f*!"})]
    async with running(Sessions, Policy, Parrot, policy={"rules": rules}) as aipm:
        with anyio.fail_after(5):
            assert await codes(aipm, ("parrot", {"text": "abcdef" * 20_000})) == ["ok"]


def test_texts_exist_in_both_languages() -> None:
    import aipm_policy.plugin  # noqa: F401

    from aipm_core import Texts

    ja, en = Texts.load("aipm_policy", "ja"), Texts.load("aipm_policy", "en")
    assert ja.keys() == en.keys()
    for key in sorted(ja.keys()):
        places = [sorted(re.findall(r"{\w+}", t.find(key) or "")) for t in (ja, en)]
        assert places[0] == places[1], key
