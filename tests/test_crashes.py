"""kill -9 at any moment: the store opens again and holds every acknowledged write."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.progress import counted

DRIVER = Path(__file__).with_name("crash_driver.py")


def killed_run(data_dir: Path, first: int, moment: float, after: str) -> list[str]:
    """Run the driver, kill it ``moment`` seconds after it printed ``after``; return its lines."""
    process = subprocess.Popen(
        [sys.executable, DRIVER, data_dir, str(first)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.strip())
        if lines[-1].startswith(after):
            break
    time.sleep(moment)  # not to wait for anything: the moment of death is the test's input
    process.send_signal(signal.SIGKILL)
    rest, errors = process.communicate()
    assert "Traceback" not in errors, errors
    return lines + rest.splitlines()


def check(data_dir: Path, acknowledged: set[str]) -> None:
    database = data_dir / "aipm.db"
    if not database.exists():
        assert not acknowledged
        return
    connection = sqlite3.connect(database)
    try:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        tables = {row[0] for row in connection.execute("select name from sqlite_master")}
        stored = (
            [row[0] for row in connection.execute("select id from projects")]
            if "projects" in tables
            else []
        )
    finally:
        connection.close()
    assert acknowledged <= set(stored)
    assert len(stored) == len(set(stored))


def sweep(root: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    data_dir, acknowledged, wrote = root / "0", set[str](), 0
    for kill in counted("kills", range(kills)):
        if chance.random() < 0.3:  # a new place: migrations run again, and may be killed
            data_dir, acknowledged = root / str(kill), set[str]()
        early = chance.random() < 0.5
        moment = chance.random() * (0.4 if early else 0.1)
        lines = killed_run(data_dir, kill * 100_000, moment, "starting" if early else "ack")
        assert not [line for line in lines if line.startswith("error")]
        acknowledged |= {line.split()[1] for line in lines if line.startswith("ack")}
        wrote += len(acknowledged)
        check(data_dir, acknowledged)
    assert wrote > 0


@pytest.mark.timeout(300)
def test_fifty_kills_lose_nothing(tmp_path: Path) -> None:
    sweep(tmp_path, kills=50, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_thousand_kills_lose_nothing(tmp_path: Path) -> None:
    sweep(tmp_path, kills=1000, seed=2)


def test_two_processes_share_one_place(tmp_path: Path) -> None:
    """Both are killed while writing to the same store; each finds the other's writes."""
    processes = [
        subprocess.Popen(
            [sys.executable, DRIVER, tmp_path, str(first)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for first in (0, 1_000_000)
    ]
    acknowledged: set[str] = set()
    for process in processes:
        assert process.stdout is not None
        mine = 0
        for line in process.stdout:
            if line.startswith("ack"):
                acknowledged.add(line.split()[1])
                mine += 1
            if mine == 200:  # neither starves: both get this far while the other goes on
                break
    for process in processes:
        process.kill()
        rest, errors = process.communicate()
        assert "Traceback" not in errors, errors
        acknowledged |= {line.split()[1] for line in rest.splitlines() if line.startswith("ack")}
    check(tmp_path, acknowledged)
