"""kill -9 in every write path of every plugin; see docs/faults.md."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count

import pytest

from tests.crashes.all_cases import CASES, NOT_KILLED, SHORT
from tests.crashes.case import MOMENTS, Case
from tests.crashes.crash_server import CrashServer
from tests.write_paths import write_paths

PATHS = write_paths()
# Parts of the program: what they write of their own is upkeep.
HOST = {"aipm_http_server", "aipm_operations", "aipm_store"}
# Killed as a whole by their own tests (test_views_over_http.py, test_runs.py, test_webhook.py), or
# without a write that matters: people's commands are remembered by the sessions.
KILLED_ELSEWHERE = {"aipm_runner", "aipm_ui_gateway", "aipm_views", "aipm_webhook"}
# Run what Toolbox._call_for handed to the call, and what its tool writes.
ON_BEHALF = {f"aipm_core.pipeline.call:Pipeline.{name}" for name in ("_answer", "_run")}
ROW_OF = {
    "inside": ("fault", "killed-inside"),
    "committed": ("fault", "killed-committed"),
    "told": ("fault", "killed-told"),
}
numbers = count(1)
EVERY = [(case, path, moment) for case in CASES for path in case.paths for moment in MOMENTS]
FEW = [(case, case.paths[-1], moment) for case, moments in SHORT for moment in moments]


def named(given: object) -> str | None:
    return given.__name__ if isinstance(given, type) else None


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrashServer]:
    made = CrashServer(tmp_path_factory.mktemp("stage"))
    yield made
    made.stop()


def test_every_write_path_has_a_crash() -> None:
    covered = {path for case in CASES for path in case.paths}
    missing = PATHS.keys() - covered - NOT_KILLED.keys()
    assert not missing, "a new write needs a case in tests/crashes"
    assert not (covered | NOT_KILLED.keys()) - PATHS.keys(), "a case whose write is gone"
    plugins = {path.module.partition(".")[0] for path in PATHS.values()}
    tried = {PATHS[path].module.partition(".")[0] for _, path, _ in FEW}
    assert plugins == tried | HOST | KILLED_ELSEWHERE


def killed(stage: CrashServer, case: type[Case], path: str, moment: str) -> None:
    stage.disarm()
    try:
        case(stage, next(numbers), PATHS[path]).survive(moment)
    except BaseException:
        stage.disarm()
        stage.stop()
        raise


def check_the_whole(stage: CrashServer) -> None:
    """After all those crashes: whole, no event missing, every line once, nobody unknown wrote."""
    stage.stop()
    database = stage.install.root / ".aipm-data" / "aipm.db"
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("pragma foreign_key_check").fetchall() == []
    assert stage.command("audit", "verify").returncode == 0
    assert stage.one("select count(*) from chat_outbox") == 0
    assert stage.writers() <= {name.partition("#")[0] for name in PATHS} | ON_BEHALF


@pytest.mark.parametrize(("case", "path", "moment"), FEW, ids=named)
def test_killed_in_a_write(
    stage: CrashServer,
    case: type[Case],
    path: str,
    moment: str,
    record_property: Callable[[str, object], None],
) -> None:
    record_property(*ROW_OF[moment])
    killed(stage, case, path, moment)


def test_what_is_left_after_all_those_crashes(stage: CrashServer) -> None:
    check_the_whole(stage)


@pytest.mark.long
@pytest.mark.parametrize(("case", "path", "moment"), EVERY, ids=named)
def test_killed_in_every_write(
    stage: CrashServer,
    case: type[Case],
    path: str,
    moment: str,
    record_property: Callable[[str, object], None],
) -> None:
    record_property(*ROW_OF[moment])
    killed(stage, case, path, moment)


@pytest.mark.long
def test_what_is_left_after_every_crash(stage: CrashServer) -> None:
    check_the_whole(stage)
