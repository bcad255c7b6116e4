"""kill -9 of whoever runs programs, at any moment: none outlives it, nothing is lost or doubled."""

from itertools import islice
from pathlib import Path
from time import sleep

import pytest
from aipm_devkit.program import Server

from tests.progress import counted
from tests.runner_team import Forks, RunnerTeam, alive, forks, kill, moments

ALIVE = "select count(*) from runs where ended_at is null and owner = ?"
OPEN_TASKS = "select count(*) from tasks where status not in ('done', 'cancelled')"
AFTER_SECONDS = 5.0  # the contract's: so long after the end nothing is left of a run
NOT_RUNNING_SECONDS = 10.0  # the contract's: so long after a death no run counts as running


def sweep(team: RunnerTeam, server: Server, started: Forks, kills: int, seed: int) -> None:
    """Kill the runner again and again while it works, and look each time what it left."""
    for moment in counted_moments(kills, seed):
        if team.one(OPEN_TASKS) < len(team.agents) * 2:
            team.tasks(server, len(team.agents) * 4)
        process = started.start("runner", "--json")
        sleep(moment)  # not to wait for anything: the moment of death is the test's input
        kill(process)
        nothing_is_left(team)


def nothing_is_left(team: RunnerTeam) -> None:
    runs = {row[0] for row in team.rows("select id from runs")}
    team.wait(lambda: not alive(runs), AFTER_SECONDS)


def counted_moments(kills: int, seed: int) -> list[float]:
    chosen = list(islice(moments(seed), kills))
    return [chosen[number] for number in counted("kills", range(kills))]


def finish(team: RunnerTeam, started: Forks) -> None:
    """Let everything that is left be worked off, and look at the whole."""
    process = started.start("runner", "--json")
    team.wait(lambda: team.one(OPEN_TASKS) == 0)
    team.wait(lambda: team.one("select count(*) from runs where ended_at is null") == 0)
    kill(process)
    lost = team.one("select count(*) from runs where end_reason = 'runner_lost'")
    assert lost > 0, "no kill met a run"
    bad = "end_reason not in ('ok', 'runner_lost')"
    assert team.rows(f"select id, end_reason, detail from runs where {bad}") == []
    team.check()


def die_often(root: Path, kills: int, seed: int) -> None:
    team = RunnerTeam(root)
    with team.up() as server, forks(team) as started:
        sweep(team, server, started, kills, seed)
        finish(team, started)


@pytest.mark.timeout(300)
def test_a_runner_killed_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    die_often(tmp_path, 100, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_runner_killed_a_thousand_times(tmp_path: Path) -> None:
    die_often(tmp_path, 1000, seed=2)


def servers_die(root: Path, kills: int, seed: int) -> None:
    """Kill the server that runs programs itself."""
    team = RunnerTeam(root, in_server=True)
    with team.up() as server:
        team.tasks(server, 10 + 4 * kills)
    with forks(team) as started:
        for moment in counted_moments(kills, seed):
            process = started.start("up", "--json")
            sleep(0.4 + moment * 2)  # as above
            kill(process)
            nothing_is_left(team)
        process = started.start("up", "--json")
        team.wait(lambda: team.one(OPEN_TASKS) == 0, 120)
        team.wait(lambda: team.one("select count(*) from runs where ended_at is null") == 0)
        kill(process)
    assert team.one("select count(*) from runs where end_reason = 'runner_lost'") > 0
    team.check()


@pytest.mark.timeout(300)
def test_a_server_killed_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    servers_die(tmp_path, 8, seed=3)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_server_killed_two_hundred_times(tmp_path: Path) -> None:
    servers_die(tmp_path, 200, seed=4)


def test_no_run_of_a_dead_runner_counts_as_running(tmp_path: Path) -> None:
    """Nobody lists runs and no other runner is there: the server sees it by itself."""
    team = RunnerTeam(tmp_path, 1, program="import time\ntime.sleep(1000)\n")
    with team.up() as server, forks(team) as started:
        team.tasks(server, 1)
        process = started.start("runner", "--json")
        team.wait(lambda: team.rows("select 1 from runs where state = 'running'"))
        kill(process)
        ended = "select end_reason from runs where ended_at is not null"
        assert team.wait(lambda: team.rows(ended), NOT_RUNNING_SECONDS) == [("runner_lost",)]


def test_a_run_whose_program_dies_ends(tmp_path: Path) -> None:
    team = RunnerTeam(tmp_path, 1, in_server=True, program="import time\ntime.sleep(1000)\n")
    with team.up() as server:
        team.tasks(server, 1)
        team.wait(lambda: team.rows("select 1 from runs where state = 'running'"))
        (run,) = team.rows("select id from runs")
        for process in team.wait(lambda: alive({run[0]})):
            kill(process)
        ended = "select end_reason from runs where ended_at is not null"
        assert team.wait(lambda: team.rows(ended), NOT_RUNNING_SECONDS) == [("process_died",)]
        assert alive({run[0]}) == []
