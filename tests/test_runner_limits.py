"""Money, accounts, waiting and silence: who is over a limit stops, who waits is left in peace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.runner_team import TOOLS, RunnerTeam

STATE = "select state, waits_for, evidence from runs order by number desc limit 1"
ENDED = "select end_reason, detail from runs where ended_at is not null order by number"


def test_a_run_over_its_budget_is_stopped_and_the_inbox_says_so(tmp_path: Path) -> None:
    spend = 'import time\nprint(\'aipm-usage {{"cost_usd": 0.5, "tokens": 7}}\', flush=True)\n'
    spend += "print('aipm-usage {{\"cost_usd\": 1.5}}', flush=True)\ntime.sleep(1000)\n"
    budget = "run_budget_usd = 1"
    team = RunnerTeam(tmp_path, 1, in_server=True, program=spend, settings=budget)
    with team.up() as server:
        team.tasks(server, 1)
        ((reason, detail),) = team.wait(lambda: team.rows(ENDED))
        assert reason == "budget"
        assert "1.00 USD" in detail
        (item,) = team.wait(lambda: team.install.json("inbox"))
        assert "1.00 USD" in item["summary"]
        (run,) = team.install.json("runs", "list")
        assert (run["tokens"], run["cost_usd"]) == (7, 1.5)


def test_a_day_s_budget_of_an_agent_stops_its_runs_and_starts_none(tmp_path: Path) -> None:
    spend = TOOLS + "print('aipm-usage {{\"cost_usd\": 2}}', flush=True)\nwork()\nreport()\n"
    team = RunnerTeam(tmp_path, 2, in_server=True, program=spend)
    team.install.run("agent", "edit", "ann0", "--budget", "2")
    with team.up() as server:
        team.tasks(server, 4)
        team.wait(lambda: team.one("select count(*) from tasks where status = 'done'") == 3)
        team.wait(lambda: len(team.rows(ENDED)) == 3)
        rows = "select agent_id, count(*) from runs group by agent_id order by agent_id"
        assert team.rows(rows) == [("ann0", 1), ("ann1", 2)]


def test_an_account_that_is_used_up_stops_starts_and_goes_on_by_itself(tmp_path: Path) -> None:
    body = (
        TOOLS
        + """
import pathlib
mark = pathlib.Path({locks!r}, "until")
if not mark.exists():
    mark.write_text(str(time.time() + 4))
until = float(mark.read_text())
if time.time() < until:
    print('aipm-usage {{"limit_until": ' + str(until) + '}}', flush=True)
    sys.exit(1)
work()
report()
"""
    )
    team = RunnerTeam(tmp_path, 1, in_server=True, program=body)
    with team.up() as server:
        team.tasks(server, 1)
        ((reason, detail),) = team.wait(lambda: team.rows(ENDED))
        assert reason == "quota"
        assert "by itself" in detail
        assert team.install.json("inbox") == []
        team.wait(lambda: team.one("select count(*) from tasks where status = 'done'") == 1)
        assert [row[0] for row in team.wait(lambda: all_ended(team))] == ["quota", "ok"]


def all_ended(team: RunnerTeam) -> list[Any]:
    running = team.one("select count(*) from runs where ended_at is null")
    return [] if running else team.rows(ENDED)


def test_a_run_waits_for_a_confirmation(tmp_path: Path) -> None:
    asks = TOOLS + "work()\ncall('create_task', title='t')\nreport()\n"
    rule = """
[[plugins.policy.rules]]
tool = "create_task"
decision = "REQUIRE_USER_CONFIRMATION"
"""
    team = RunnerTeam(tmp_path, 1, in_server=True, program=asks)
    toml = tmp_path / "aipm.toml"
    toml.write_text(toml.read_text() + rule)
    with team.up() as server:
        team.tasks(server, 1)
        team.wait(lambda: team.rows(STATE) == [("waiting", "confirmation", "call")])
        (item,) = team.install.json("inbox")
        team.install.run("approve", item["id"])
        (row,) = team.wait(lambda: team.rows(ENDED))
        assert row[0] == "ok"


def test_a_run_that_polls_without_work_waits_for_an_answer(tmp_path: Path) -> None:
    polls = (
        TOOLS
        + """
call("get_pending_messages")
call("respond_chat", content="yes")
call("get_next_action", timeout_seconds=40)
call("get_pending_messages")
call("respond_chat", content="yes again")
call("logout")
"""
    )
    team = RunnerTeam(tmp_path, 1, in_server=True, program=polls)
    say = ("say", "ann0", "--project", "p", "--as", "mia")
    with team.up():
        team.install.run(*say, "there?")
        team.wait(lambda: team.rows(STATE) == [("waiting", "answer", "call")])
        team.install.run(*say, "still there?")
        assert [row[0] for row in team.wait(lambda: all_ended(team))] == ["ok"]


def test_silence_stops_a_program_but_never_a_working_tool(tmp_path: Path) -> None:
    silent = TOOLS + "print('aipm-usage {{\"tool\": true}}', flush=True)\ntime.sleep(7)\n"
    silent += "print('aipm-usage {{\"tool\": false}}', flush=True)\nwork()\nedit('done')\n"
    silent += "time.sleep(1000)\n"
    limits = "silent_seconds = 3\nmax_attempts = 1"
    team = RunnerTeam(tmp_path, 1, in_server=True, program=silent, settings=limits)
    with team.up() as server:
        team.tasks(server, 1)
        ((reason, _),) = team.wait(lambda: team.rows(ENDED))
        assert reason == "no_progress"
        assert [line[2:] for line in team.lines() if line[2] == "edit"] == [["edit", "done"]]
