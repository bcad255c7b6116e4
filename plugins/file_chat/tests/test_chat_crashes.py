"""kill -9 at any moment: what was acknowledged stands once in the store and in both files."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aipm_file_chat.testing import file_in, lines_of, team

from tests.progress import counted

DRIVER = Path(__file__).with_name("chat_crash_driver.py")
CLIENTS = [f"client-{number}" for number in range(8)]


@pytest.fixture
async def place(tmp_path: Path) -> Path:
    """Return a place with a project and eight members."""
    async with team(tmp_path, members=CLIENTS):
        return tmp_path


def start(root: Path, name: str, *death: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, DRIVER, root, name, *death],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def acknowledged(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith("ack msg_")]


def ending(process: subprocess.Popen[str]) -> list[str]:
    """Wait for the death of a process; return what it still said."""
    rest, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    assert "Traceback" not in errors, errors
    return acknowledged(rest.splitlines())


def killed(process: subprocess.Popen[str], after: str, moment: float) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(after):
            break
    time.sleep(moment)  # not to wait for anything: the moment of death is the test's input
    process.kill()
    return acknowledged(lines) + ending(process)


async def check(root: Path, expected: set[str]) -> None:
    """Open the place again, as the next start would, and compare everything with everything."""
    async with team(root) as made:
        rows = await made.store.all("select id, sender_id, receiver_id from messages order by seq")
        assert expected <= {row["id"] for row in rows}
        assert await made.store.all("select 1 from chat_outbox") == []
    wanted: dict[str, list[str]] = {}
    for row in rows:
        for owner in (row["sender_id"], row["receiver_id"]):
            wanted.setdefault(owner, []).append(row["id"])
    for owner, ids in wanted.items():
        assert [line["id"] for line in lines_of(file_in(root / "work", owner))] == ids


async def sweep(root: Path, kills: int, seed: int) -> None:
    chance, expected = random.Random(seed), set[str]()
    for kill in counted("kills", range(kills)):
        process = start(root, f"run-{kill}")
        early = chance.random() < 0.2  # while the one before is being made up for
        after, longest = ("starting", 0.4) if early else ("ack", 0.15)
        expected |= set(killed(process, after, chance.random() * longest))
        if kill % 3 == 2:  # the runs between have to make up for each other's deaths
            await check(root, expected)
    await check(root, expected)
    assert len(expected) > kills


@pytest.mark.timeout(300)
async def test_twenty_five_kills_lose_and_double_nothing(place: Path) -> None:
    await sweep(place, kills=25, seed=1)


@pytest.mark.long
async def test_two_hundred_kills_lose_and_double_nothing(place: Path) -> None:
    await sweep(place, kills=200, seed=2)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("death", ["before", "torn", "after"])
async def test_death_in_the_middle_of_an_append(place: Path, death: str) -> None:
    """The worst moments by design: one file written and the other not, half a line, no trace."""
    expected: set[str] = set()
    for at in (1, 2, 9):
        expected |= set(ending(start(place, f"{death}-{at}", death, str(at))))
    await check(place, expected)


@pytest.mark.timeout(300)
async def test_two_processes_on_one_place_do_not_double(place: Path) -> None:
    first, second = start(place, "first"), start(place, "second")
    expected: set[str] = set()
    for process in (first, second):
        assert process.stdout is not None
        lines: list[str] = []
        while len(lines) < 300:  # neither starves: both get this far while the other goes on
            lines.append(process.stdout.readline())
        expected |= set(acknowledged(lines))
    first.kill()
    expected |= set(ending(first))
    line = second.stdout.readline() if second.stdout else ""
    assert line.startswith("ack"), "the survivor goes on"
    second.kill()
    expected |= set(ending(second))
    await check(place, expected)
