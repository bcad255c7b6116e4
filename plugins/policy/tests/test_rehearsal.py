"""Rules tried on past calls: the same answer as live, and what would spare questions."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.testing import TASK, TestRuntime, running
from aipm_policy.api import Decision, Workplaces
from aipm_policy.plugin import Policy
from aipm_runner.plugin import Runner
from aipm_sessions.api import operator_session
from aipm_sessions.plugin import Sessions
from aipm_tasks.plugin import Tasks

from aipm_core import Plugin, Reply, Request, Session, Tx, hookimpl

ALLOW, ASK, DENY = (decision.value for decision in Decision)
COMMANDS = (
    *("git push", "git push && ls", "ls", "npm test", "npm install x", "npm install y", "rm $X"),
    *("sudo ls", "touch /etc/x", "cat .env", "echo 'open", "sh -c 'git push origin'", "make"),
)
PATHS = ("a.py", "/w/a.py", "/etc/x", ".env", "../up")
PATTERNS = ("*", "git *", "git push*", "npm *", "ls", "*x*", "/w/*", "?.py", "sudo *")


class Working(Plugin):
    """Says that everybody works in ``/w``."""

    @hookimpl
    def aipm_workplaces(self) -> list[Workplaces]:
        async def find(session: Session) -> str | None:
            return "/w"

        return [Workplaces(name="test", find=find)]


PLUGINS = (Sessions, Tasks, Runner, Policy, Working)


def some_rule(chance: random.Random) -> dict[str, Any]:
    """Make a rule up."""
    tools = ("native:*", "native:Bash", "native:Edit", "native:?e*", "*", "native:Web*")
    rule: dict[str, Any] = {
        "tool": chance.choice(tools),
        "decision": chance.choice((ALLOW, ASK, DENY)),
    }
    hour = time.strftime("%H")
    extras = {
        "arguments": {chance.choice(("command", "path", "url")): chance.choice(PATTERNS)},
        "place": chance.choice(("inside", "outside")),
        "agent": chance.choice(("agent-a", "other", "agent-*")),
        "purpose": chance.choice(("task", "chat")),
        "between": chance.choice((f"{hour}:00-{hour}:00", "00:00-00:01", "12:00-13:00")),
        "unreadable": chance.choice((True, False)),
    }
    return rule | {
        name: extras[name] for name in chance.sample(sorted(extras), chance.randint(0, 2))
    }


def some_call(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """Make a native call up."""
    tool = chance.choice(("Bash", "Bash", "Edit", "Delete", "WebFetch", "Agent"))
    told = {"Bash": {"command": chance.choice(COMMANDS)}, "WebFetch": {"url": "https://x.y/z"}}
    return f"native:{tool}", told.get(tool, {"path": chance.choice(PATHS)})


async def use(aipm: TestRuntime, tool: str, arguments: dict[str, Any]) -> Reply:
    """Let a program ask for one of its own tools; nobody is there to answer questions."""
    request = Request(tool=tool, arguments=arguments, session=TASK, audience="native")
    return await aipm.runtime.call(request)


async def have_project(tx: Tx) -> None:
    """Have a project without anybody in it."""
    await tx.run(
        "insert into projects (id, name, directory, created_at) values ('p', 'p', '/w', '') "
        "on conflict do nothing"
    )


async def order(aipm: TestRuntime, name: str, /, **arguments: Any) -> Reply:
    """Call a tool for people."""
    await aipm.runtime.store.write(have_project)
    session = operator_session()
    request = Request(tool=name, arguments=arguments, session=session, audience="ui")
    return await aipm.runtime.call(request)


async def asked(aipm: TestRuntime, name: str, /, **arguments: Any) -> Any:
    """Call a tool for people that does not refuse."""
    reply = await order(aipm, name, **arguments)
    assert reply.error is None, reply.error
    return reply.result


@pytest.mark.parametrize("seed", range(10))
async def test_a_rule_rehearsed_says_what_it_says_live(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    rules = [some_rule(chance) for _ in range(chance.randint(0, 6))]
    calls = [some_call(chance) for _ in range(40)]
    async with running(*PLUGINS, data_dir=tmp_path, policy={"rules": rules}) as aipm:
        live = [await use(aipm, *call) for call in calls]
    async with running(*PLUGINS, data_dir=tmp_path, policy={"rules": rules[1:]}) as aipm:
        again = await asked(aipm, "rehearse_rules", project_id="p", rules=rules, days=1)
    assert (again["calls"], again["not_judged"], again["changed"]) == (40, 0, [])
    assert again["before"] == again["after"]
    codes = [reply.error.code if reply.error else "ok" for reply in live]
    assert again["after"] == {
        ALLOW: codes.count("ok"),
        ASK: codes.count("no_confirmer"),
        DENY: codes.count("denied_by_policy"),
    }


async def test_what_rules_would_have_meant(tmp_path: Path) -> None:
    async with running(*PLUGINS, data_dir=tmp_path, locale="en") as aipm:
        for command in ("npm install a", "npm install b", "npm install c", "curl x", "ls"):
            await use(aipm, "native:Bash", {"command": command})
        await use(aipm, "native:Bash", {"command": "echo " + "x" * 9000})
        await use(aipm, "native:Bash", {"command": "echo aipm_st_" + "x" * 43})
    async with running(*PLUGINS, data_dir=tmp_path, locale="en") as aipm:
        now = await asked(aipm, "rehearse_rules", project_id="p", days=2)
        assert (now["calls"], now["not_judged"], now["changed"]) == (5, 2, [])
        assert now["questions_per_day"] == 2.0
        assert now["asking"] == [{"rule": "default: network", "questions": 4}]
        best = now["suggestions"][0]
        assert best["removes"] == 3
        wanted = {
            "tool": "native:Bash",
            "decision": ALLOW,
            "arguments": {"command": "npm install*"},
        }
        assert best["rule"] == wanted
        deny = [{"tool": "native:Bash", "argument": {"command": "npm *"}, "decision": DENY}]
        then = await asked(aipm, "rehearse_rules", project_id="p", rules=deny, days=2)
        assert then["after"] == {ALLOW: 1, ASK: 1, DENY: 3}
        assert {one["times"] for one in then["changed"]} == {1}
        assert {one["after"] for one in then["changed"]} == {DENY}


async def test_a_rule_made_by_a_click_ends_by_itself(tmp_path: Path) -> None:
    now = [1_700_000_000.0]
    ask = {"tool": "native:Bash", "argument": {"command": "npm publish*"}, "decision": ASK}
    policy = {"rules": [ask]}
    async with running(*PLUGINS, data_dir=tmp_path, clock=lambda: now[0], policy=policy) as aipm:

        async def code(command: str) -> str:
            reply = await use(aipm, "native:Bash", {"command": command})
            return reply.error.code if reply.error else "ok"

        assert await code("npm install x") == "no_confirmer"
        about = {"project_id": "p", "tool": "native:Bash", "days": 1.0}
        made = await asked(aipm, "make_rule", **about, arguments={"command": "npm *"})
        assert await code("npm install x") == "ok"
        assert await code("npm install x && curl y") == "no_confirmer"
        assert await code("npm publish") == "no_confirmer"  # a rule of the settings asks
        (listed,) = (await asked(aipm, "list_rules", project_id="p"))["made"]
        assert listed["id"] == made["rule_id"]
        now[0] += 90_000
        assert await code("npm install x") == "no_confirmer"
        made = await asked(aipm, "make_rule", **about, arguments={"command": "npm *"})
        assert await code("npm install x") == "ok"
        await asked(aipm, "revoke_rule", project_id="p", rule_id=made["rule_id"])
        assert await code("npm install x") == "no_confirmer"
        gone = await order(aipm, "revoke_rule", project_id="p", rule_id=made["rule_id"])
        assert gone.error is not None
        assert gone.error.code == "rule_not_found"


async def test_a_rule_that_is_none_is_refused_with_its_place(tmp_path: Path) -> None:
    async with running(*PLUGINS, data_dir=tmp_path, locale="en") as aipm:
        rules = [{"tool": "x", "decision": ALLOW}, {"tool": "x", "decision": "MAYBE"}]
        reply = await order(aipm, "rehearse_rules", project_id="p", rules=rules)
        assert reply.error is not None
        assert reply.error.code == "bad_rule"
        assert reply.error.message.startswith("rules[2].decision: ")


async def test_nothing_is_kept_where_nobody_wants_it(tmp_path: Path) -> None:
    policy = {"rehearsal_days": 0}
    async with running(*PLUGINS, data_dir=tmp_path, policy=policy) as aipm:
        await use(aipm, "native:Bash", {"command": "ls"})
    async with running(*PLUGINS, data_dir=tmp_path, policy=policy) as aipm:
        assert (await asked(aipm, "rehearse_rules", project_id="p"))["calls"] == 0
