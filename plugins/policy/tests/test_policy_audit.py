"""The audit trail: complete, chained, and honest about tampering."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import TASK, TestRuntime, running
from aipm_policy.plugin import AUDIT, Policy
from aipm_sessions.plugin import Sessions

from aipm_core import Access, AnyTool, Arguments, Call, Json, Plugin, hookimpl, tool


class Look(Arguments):
    password: str = ""


class Door(Plugin):
    """Tools to decide about."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.knock, access=Access.SESSION)
        yield tool(self.peek, access=Access.SESSION, read_only=True)

    async def knock(self, call: Call, args: Look) -> Json:
        """Knock."""
        return {}

    async def peek(self, call: Call, args: Look) -> Json:
        """Peek."""
        return {}


DENY_PEEK = {"rules": [{"tool": "peek", "decision": "DENY", "arguments": {"password": "?*"}}]}


async def fill(aipm: TestRuntime, times: int = 3) -> None:
    for number in range(times):
        await aipm.call("knock", TASK, session_token="s-task")
        await aipm.call("peek", TASK, password=f"hunter-{number}")


async def entries(aipm: TestRuntime) -> list[dict[str, Any]]:
    found = await aipm.runtime.services.use(AUDIT).of_projects(None, None, 100)
    return found[::-1]


async def test_every_decision_is_on_record_without_its_secrets(tmp_path: Path) -> None:
    async with running(Sessions, Policy, Door, policy=DENY_PEEK, data_dir=tmp_path) as aipm:
        await fill(aipm, 1)
    # What was allowed is written in batches: the last one at the end of the program.
    async with running(Sessions, Policy, Door, policy=DENY_PEEK, data_dir=tmp_path) as aipm:
        found = await entries(aipm)
        report = await aipm.runtime.services.use(AUDIT).verify()
    by_tool = {entry["tool"]: entry for entry in found}
    assert len(found) == 2
    assert by_tool["peek"] | {"seq": 0, "at": ""} == {
        "seq": 0,
        "at": "",
        "agent_id": "agent-a",
        "session_id": "s-task",
        "project_id": "p",
        "tool": "peek",
        "args_digest": by_tool["peek"]["args_digest"],
        "rule": "rules[1] peek",
        "decision": "DENY",
        "outcome": "denied",
    }
    assert (by_tool["knock"]["decision"], by_tool["knock"]["outcome"]) == ("ALLOW", "allowed")
    assert "hunter" not in json.dumps(found)
    assert report.ok
    assert report.entries == 2


async def test_reading_what_no_rule_speaks_about_leaves_no_entry(tmp_path: Path) -> None:
    async with running(Sessions, Policy, Door, data_dir=tmp_path) as aipm:
        await aipm.call("peek")
    async with running(Sessions, Policy, Door, data_dir=tmp_path) as aipm:
        assert await entries(aipm) == []


TAMPERINGS = {
    "an edited entry": "update policy_audit set entry = replace(entry, 'DENY', 'x') where seq = 2",
    "an edited time": "update policy_audit set at = '2000-01-01T00:00:00.000Z' where seq = 3",
    "a removed entry": "delete from policy_audit where seq = 2",
    "a cut end": "delete from policy_audit where seq >= 3",
    "a cut end with its head moved": (
        "delete from policy_audit where seq >= 3; update policy_audit_head set last_seq = 2"
    ),
    "everything removed": "delete from policy_audit",
    "the head removed": "delete from policy_audit_head",
    "an entry added": (
        "insert into policy_audit select 5, at, entry, hash from policy_audit where seq = 4"
    ),
    "two entries swapped": (
        "update policy_audit set seq = 100 where seq = 2; update policy_audit set seq = 2 "
        "where seq = 3; update policy_audit set seq = 3 where seq = 100"
    ),
    "the start cut": "delete from policy_audit where seq = 1",
}


@pytest.mark.parametrize("tampering", TAMPERINGS.values(), ids=[*TAMPERINGS])
async def test_tampering_is_found(tmp_path: Path, tampering: str) -> None:
    rules = {"rules": [{"tool": "*", "decision": "DENY"}]}
    async with running(Sessions, Policy, Door, policy=rules, data_dir=tmp_path) as aipm:
        await fill(aipm, 2)
        assert (await aipm.runtime.services.use(AUDIT).verify()).ok
        with sqlite3.connect(tmp_path / "aipm.db") as db:
            db.executescript(tampering)
        report = await aipm.runtime.services.use(AUDIT).verify()
    assert not report.ok
    assert report.problem


async def test_a_trail_written_anew_is_found_with_an_earlier_head(tmp_path: Path) -> None:
    rules = {"rules": [{"tool": "*", "decision": "DENY"}]}
    heads = []
    for place in ("true", "forged"):
        async with running(Sessions, Policy, Door, policy=rules, data_dir=tmp_path / place) as aipm:
            await fill(aipm, 1)
            heads.append((await aipm.runtime.services.use(AUDIT).verify()).head)
            await fill(aipm, 1)
            audit = aipm.runtime.services.use(AUDIT)
            assert (await audit.verify(heads[-1])).ok
            if place == "forged":
                assert (await audit.verify()).ok
                assert not (await audit.verify(heads[0])).ok


async def test_old_entries_go_and_the_chain_holds_across_the_cut_and_a_restart(
    tmp_path: Path,
) -> None:
    now = [1_000_000.0]
    rules = {"rules": [{"tool": "*", "decision": "DENY"}], "audit_days": 1}
    heads = ["0:"]
    for days in (0, 2):
        now[0] += days * 86_400
        async with running(
            Sessions, Policy, Door, policy=rules, data_dir=tmp_path, clock=lambda: now[0]
        ) as aipm:

            async def swept() -> bool | None:
                row = await aipm.runtime.store.one("select min(seq) as first from policy_audit")
                return True if row is not None and row["first"] in (None, 5) else None

            if days:
                assert await aipm.runtime.store.wait_until(("policy_audit",), swept, 5)
            await fill(aipm, 2)
            audit = aipm.runtime.services.use(AUDIT)
            report = await audit.verify()
            assert report.ok
            assert report.entries == 4
            heads.append(report.head)
            # An earlier head that is the cut itself can still be compared.
            assert (await audit.verify(heads[-2])).ok
    assert report.head.startswith("8:")


async def test_a_head_older_than_what_is_kept_is_not_called_tampering(tmp_path: Path) -> None:
    now = [1_000_000.0]
    rules = {"rules": [{"tool": "*", "decision": "DENY"}], "audit_days": 1}
    async with running(
        Sessions, Policy, Door, policy=rules, data_dir=tmp_path, clock=lambda: now[0]
    ) as aipm:
        audit = aipm.runtime.services.use(AUDIT)
        await fill(aipm, 1)
        old = (await audit.verify()).head
        await fill(aipm, 1)
    now[0] += 2 * 86_400
    async with running(
        Sessions, Policy, Door, policy=rules, data_dir=tmp_path, clock=lambda: now[0]
    ) as aipm:

        async def swept() -> bool | None:
            return await aipm.runtime.store.one("select 1 from policy_audit") is None or None

        audit = aipm.runtime.services.use(AUDIT)
        assert await aipm.runtime.store.wait_until(("policy_audit",), swept, 10)
        report = await audit.verify(old)
        assert (report.ok, report.outdated) == (False, True)
        assert report.problem is not None
        assert report.problem.startswith("the expected head is entry 2, and the entries up to 4")
        forged = await audit.verify(f"4:{'0' * 64}")
        assert (forged.ok, forged.outdated) == (False, False)


def test_the_command_line_verifies_and_lists(tmp_path: Path) -> None:
    rule = '[[plugins.policy.rules]]\ntool = "help"\ndecision = "DENY"\n'
    aipm = Install.make(tmp_path, f'locale = "en"\n{rule}')
    assert aipm.json("audit", "verify") == {"ok": True, "entries": 0, "head": "0:"}
    assert aipm.json("audit", "list") == []
    assert aipm.json("policy", "grants") == []
    assert aipm.run("policy", "revoke", "grt_x", check=3).stdout == ""
    with sqlite3.connect(tmp_path / ".aipm-data" / "aipm.db") as db:
        db.execute("update policy_audit_head set last_seq = 7, first_seq = 7")
    cut = aipm.run("audit", "verify", "--expect", "3:00", check=1)
    assert "what stood before entry 8 was not deleted by this program" in cut.stdout
    with sqlite3.connect(tmp_path / ".aipm-data" / "aipm.db") as db:
        db.execute("update policy_audit_head set last_seq = 7, first_seq = 0")
    wrong = aipm.run("audit", "verify", "--expect", "yesterday", check=2)
    assert "a head looks like 12:3fa9…, as `aipm audit verify` prints it" in wrong.stderr
    broken = aipm.run("audit", "verify", check=1)
    assert "tampered" in broken.stdout
    assert json.loads(aipm.run("audit", "verify", "--json", check=1).stdout)["data"]["ok"] is False


def test_a_wrong_rule_is_named(tmp_path: Path) -> None:
    aipm = Install.make(tmp_path, '[[plugins.policy.rules]]\ntool = "x"\ndecison = "DENY"\n')
    done = aipm.run("audit", "verify", check=2)
    assert "[rules.0]: unknown key 'decison'; did you mean 'decision'?" in done.stderr
