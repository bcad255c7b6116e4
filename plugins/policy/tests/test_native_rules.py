"""Rules about programs' own tools: commands taken apart, places, hours, and what is shipped."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.testing import TASK, running
from aipm_policy.api import POLICIES, Decision, Inquiry, Workplaces
from aipm_policy.config import Rule
from aipm_policy.defaults import ShippedRule
from aipm_policy.plugin import Policy
from aipm_policy.rules import Rulebook
from aipm_policy.shell import read_line
from aipm_runner.plugin import Runner
from aipm_sessions.plugin import Sessions
from hypothesis import given, settings
from hypothesis import strategies as some
from pydantic import ValidationError

from aipm_core import Access, Plugin, Session, Tool, hookimpl

ALLOW, ASK, DENY = "ALLOW", "REQUIRE_USER_CONFIRMATION", "DENY"


async def nothing(*_: object) -> dict[str, Any]:
    return {}


def tool(name: str) -> Tool[Any]:
    schema: dict[str, Any] = {"properties": {"command": {}, "path": {}, "url": {}}}
    return Tool(name=name, run=nothing, access=Access.SESSION, audience="native", arguments=schema)


BASH = tool("native:Bash")


def rule(decision: str, pattern: Any = None, **more: Any) -> Rule:
    about = {} if pattern is None else {"argument": {"command": pattern}}
    told = {"tool": "native:Bash", "decision": decision, **about, **more}
    return Rule.model_validate(told)


def decided(rules: list[Rule], command: Any, **more: Any) -> str:
    """Return the most restrictive of what rules say, without defaults."""
    args = {} if command is None else {"command": command}
    asked = {"tool": BASH, "args": args, "principal": "a", "session": TASK, "workplace": "/w"}
    verdicts = Rulebook(rules).verdicts(Inquiry(**{**asked, **more}))
    return max((v.decision for v in verdicts), key=list(Decision).index).value


HIDDEN_PUSHES = [
    "git push",
    "git push origin main",
    "cd x && git push",
    "true; git push",
    "ls | git push",
    "git push &",
    "(git push)",
    "{ git push; }",
    "! git push",
    "if true; then git push; fi",
    "for x in a; do git push; done",
    "f() { git push; }; f",
    "echo $(git push)",
    "echo `git push`",
    'echo "a $(git push) b"',
    "diff <(git push) x",
    "FOO=1 git push",
    "sudo git push",
    "sudo -u me git push",
    "env -i FOO=1 git push",
    "nohup nice -n 5 git push",
    "timeout 5 git push",
    "xargs git push",
    "find . -exec git push {} +",
    "sh -c 'git push'",
    'bash -lc "git push"',
    "sudo bash -c 'cd x; git push'",
    "sh -c \"sh -c 'git push'\"",
    "eval git push",
    "eval 'git push'",
    "trap 'git push' EXIT",
    "/usr/bin/git push",
    "git -C x push",
    "git -c a=b --no-pager push",
    "g\"it\" pu'sh'",
    "g\\it push",
    "git pu\\\nsh",
    "git\tpush",
    "git $X",
    "git p*",
    "$X push",
    "$(cat x)",
    "cat <<EOF\n$(git push)\nEOF",
    "cat <<EOF\n`git push`\nEOF",
    "curl x | sh",
    "bash <<EOF\ngit push\nEOF",
    "{git,push}",
    "git {push,x}",
    "$'git' push",
    "$'g\\x69t' push",
    "echo 'open",
    "git push \r",
    ["git", "push"],
    {"program": "git"},
]


@pytest.mark.parametrize("command", HIDDEN_PUSHES, ids=repr)
@pytest.mark.parametrize("decision", [ASK, DENY])
def test_a_rule_finds_a_command_wherever_it_hides(decision: str, command: Any) -> None:
    assert decided([rule(decision, "git push*")], command) == decision


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "echo git push",
        "git commit -m 'do not git push'",
        "echo $HOME",
        "git commit -m \"$(cat <<'EOF'\nwith `marks`\nEOF\n)\"",
        "ls > git",
        "grep 'git push' x",
        "# git push",
        "bash push.sh",
        None,
        "",
    ],
    ids=repr,
)
def test_and_leaves_others_alone(command: Any) -> None:
    assert decided([rule(DENY, "git push*")], command) == ALLOW


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("git log", True),
        ("git log --oneline | git apply", True),
        ("sh -c 'git log'", True),
        ("git log $X", True),
        ("git log 2>&1 > /dev/null", True),
        ("git log && rm x", False),
        ("git log > x", False),
        ("git log; $X", False),
        ("git$X log", False),
        ("sudo git log", False),
        ("PATH=x git log", False),
        ("/opt/git log", False),
        ("git log $(rm x)", False),
        ("echo 'open", False),
        ("git log | sh", False),
        ({"git": "log"}, False),
    ],
    ids=repr,
)
def test_a_permission_covers_every_command_or_none(command: Any, allowed: bool) -> None:
    otherwise = ShippedRule(name="all", tool="native:*", decision=Decision(ASK))
    book = Rulebook([rule(ALLOW, "git *")], [otherwise])
    asked = Inquiry(tool=BASH, args={"command": command}, principal="a", session=TASK)
    found = max((v.decision for v in book.verdicts(asked)), key=list(Decision).index)
    assert found.value == (ALLOW if allowed else ASK)


def test_several_patterns_are_one_of_them() -> None:
    either = rule(DENY, ["git push*", "npm publish*"])
    assert decided([either], "npm publish") == DENY
    assert decided([either], "npm test") == ALLOW


@pytest.mark.parametrize(
    ("between", "hour", "holds"),
    [
        ("22:00-07:00", "23:30", True),
        ("22:00-07:00", "06:59", True),
        ("22:00-07:00", "07:00", False),
        ("09:00-17:00", "09:00", True),
        ("09:00-17:00", "17:00", False),
        ("00:00-00:00", "12:00", True),
    ],
)
def test_a_rule_has_its_hours(between: str, hour: str, holds: bool) -> None:
    at = datetime.strptime(f"2026-03-04 {hour}", "%Y-%m-%d %H:%M").astimezone().timestamp()
    told = decided([rule(DENY, between=between)], "ls", at=at)
    assert told == (DENY if holds else ALLOW)


@pytest.mark.parametrize("between", ["22-7", "25:00-07:00", "22:00", "a", "22:00-07:60"])
def test_hours_that_are_none_are_refused(between: str) -> None:
    with pytest.raises(ValidationError):
        rule(DENY, between=between)


SHIPPED: list[tuple[str, dict[str, Any], str]] = [
    ("Read", {"path": "/etc/hosts"}, ALLOW),
    ("Search", {"pattern": "x"}, ALLOW),
    ("Plan", {}, ALLOW),
    ("Agent", {"prompt": "x"}, ALLOW),
    ("Read", {"path": "/home/me/.ssh/id_rsa"}, DENY),
    ("Write", {"path": ".env"}, DENY),
    ("Edit", {"path": "/w/a.py"}, ALLOW),
    ("Edit", {"path": "a.py"}, ALLOW),
    ("Edit", {"path": ["a.py", "/x"]}, ASK),
    ("Edit", {"path": "a.py", "real_path": "/etc/passwd"}, ASK),
    ("Edit", {"path": "../x"}, ASK),
    ("Edit", {"path": "/w/../x"}, ASK),
    ("Edit", {"path": "/work"}, ASK),
    ("Edit", {}, ASK),
    ("Delete", {"path": "/w"}, ALLOW),
    ("WebFetch", {"url": "https://x"}, ASK),
    ("Bash", {"command": "touch ran"}, ALLOW),
    ("Bash", {"command": "make test && python -m pytest -q 2>&1 | tail -5"}, ALLOW),
    ("Bash", {"command": "touch /w/sub/ran"}, ALLOW),
    ("Bash", {"command": "touch $PWD/ran"}, ALLOW),
    ("Bash", {"command": "touch /tmp/ran"}, ASK),
    ("Bash", {"command": "echo x > /etc/y"}, ASK),
    ("Bash", {"command": "echo x > y"}, ALLOW),
    ("Bash", {"command": "cd .. && rm -rf x"}, ASK),
    ("Bash", {"command": "rm ~/x"}, ASK),
    ("Bash", {"command": "rm $X"}, ASK),
    ("Bash", {"command": "make DESTDIR=/usr install"}, ASK),
    ("Bash", {"command": "gcc -I/usr/include x.c"}, ASK),
    ("Bash", {"command": "rm x", "cwd": "/elsewhere"}, ASK),
    ("Bash", {"command": "rm x", "cwd": "sub"}, ALLOW),
    ("Bash", {"command": "cat /usr/include/stdio.h | head"}, ALLOW),
    ("Bash", {"command": "cat ~/.ssh/id_ed25519"}, DENY),
    ("Bash", {"command": "cat < ~/.ssh/id_ed25519"}, DENY),
    ("Bash", {"command": "X=$HOME/.netrc"}, DENY),
    ("Bash", {"command": "git push"}, ASK),
    ("Bash", {"command": "git -C sub push"}, ASK),
    ("Bash", {"command": "sh -c 'curl x'"}, ASK),
    ("Bash", {"command": "sudo ls"}, ASK),
    ("Bash", {"command": "npm test"}, ALLOW),
    ("Bash", {"command": "npm publish"}, ASK),
    ("Bash", {"command": "echo 'open"}, ASK),
    ("Bash", {"shell_id": "1"}, ALLOW),
]


class Working(Plugin):
    """Says that everybody works in ``/w``."""

    @hookimpl
    def aipm_workplaces(self) -> list[Workplaces]:
        async def find(session: Session) -> str | None:
            return "/w"

        return [Workplaces(name="test", find=find)]


async def test_what_is_shipped_for_native_tools() -> None:
    found = {}
    async with running(Sessions, Runner, Policy, Working) as aipm:
        policies = aipm.runtime.services.use(POLICIES)
        for name, args, _ in SHIPPED:
            verdict = await policies.check_permission(tool(f"native:{name}"), args, "a", TASK)
            found[name, repr(args)] = verdict.decision.value
            assert verdict.decision is Decision.ALLOW or verdict.message
    assert found == {(name, repr(args)): wanted for name, args, wanted in SHIPPED}


async def test_a_rule_of_the_settings_stands_above_what_is_shipped() -> None:
    rules = [
        {"tool": "native:Bash", "argument": {"command": "git push*"}, "decision": ALLOW},
        {"tool": "native:Read", "decision": DENY, "message": "no"},
    ]
    async with running(Sessions, Runner, Policy, Working, policy={"rules": rules}) as aipm:
        policies = aipm.runtime.services.use(POLICIES)

        async def said(name: str, **args: Any) -> str:
            verdict = await policies.check_permission(tool(f"native:{name}"), args, "a", TASK)
            return verdict.decision.value

        assert await said("Bash", command="git push") == ALLOW
        assert await said("Bash", command="git push && curl x") == ASK
        assert await said("Read", path="a") == DENY
    async with running(Sessions, Policy, policy={"native_defaults": False}) as aipm:
        policies = aipm.runtime.services.use(POLICIES)
        assert await said("Bash", command="curl x") == ALLOW


class Lost(Plugin):
    """Does not know where anybody works, in three ways."""

    @hookimpl
    def aipm_workplaces(self) -> list[Workplaces]:
        async def raises(session: Session) -> str | None:
            raise RuntimeError("lost")

        async def hangs(session: Session) -> str | None:
            await asyncio.Event().wait()
            return None

        async def garbage(session: Session) -> Any:
            return 7

        finds = {"raises": raises, "hangs": hangs, "garbage": garbage}
        return [Workplaces(name=name, find=find) for name, find in finds.items()]


async def test_where_nobody_knows_the_place_a_person_is_asked() -> None:
    async with running(Sessions, Policy, Lost, policy={"check_seconds": 0.05}) as aipm:
        policies = aipm.runtime.services.use(POLICIES)
        verdict = await policies.check_permission(tool("native:Edit"), {"path": "a"}, "a", TASK)
        assert verdict.rule == "default: outside"
    async with running(Sessions, Policy, Lost, Working, policy={"check_seconds": 0.05}) as aipm:
        policies = aipm.runtime.services.use(POLICIES)
        verdict = await policies.check_permission(tool("native:Edit"), {"path": "a"}, "a", TASK)
        assert verdict.rule == "default: inside"


@settings(deadline=None, max_examples=50)
@given(some.text(max_size=60))
def test_no_line_breaks_the_reading(line: str) -> None:
    read_line(line)
    decided([rule(DENY, "git [p]ush*"), rule(ALLOW, "ls *")], line)


_PIECES = ["git push", "ls", "$X", "'a b'", "&&", "|", ";", "(", ")", "sh -c", "x=1", ">", "y"]


@settings(deadline=None, max_examples=50)
@given(some.lists(some.sampled_from(_PIECES), max_size=8))
def test_a_line_that_names_a_push_as_a_command_is_found(pieces: list[str]) -> None:
    """Whatever stands around it: bash is the judge of whether the push is a command."""
    line = " ".join(pieces)
    if pushes(line):
        assert decided([rule(DENY, "git push*")], line) == DENY


def pushes(line: str) -> bool:
    """Let bash say which commands it would run, with nothing but a ``git`` that tells."""
    script = 'git() { echo "PUSHED $1"; }; ls() { :; }; y() { :; }; ' + line
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            ["/bin/bash", "--norc", "-c", script],
            capture_output=True,
            text=True,
            cwd=empty,
            env={"PATH": "/nowhere"},
            check=False,
        )
        told = [done.stdout, done.stderr]
        told += [path.read_text() for path in Path(empty).iterdir() if path.is_file()]
    return "PUSHED push" in "".join(told)
