"""Disks and clocks that fail under a real server; see docs/faults.md."""

import errno
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from aipm_devkit.program import Server

from tests.agents import Agent
from tests.fault_table import ROWS
from tests.fault_team import CHAT, DATABASE, LOG, Team, Template, moved_in
from tests.faulty_disk import COMPILER, FaultyDisk, Trouble

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler for the shim")


@dataclass
class Shaky:
    """A server on a disk that fails on command; the same one for many faults in a row."""

    team: Team
    disk: FaultyDisk
    server: Server
    ann: Agent

    def say(self) -> str:
        return self.team.sent_messages.say(self.ann)

    def wait_until_ready(self, status: int) -> None:
        deadline = time.monotonic() + 20
        while httpx.get(f"{self.server.url}/readyz").status_code != status:
            assert time.monotonic() < deadline, f"/readyz never answered {status}"
            time.sleep(0.05)


@pytest.fixture(scope="module")
def shaky(template: Template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shaky]:
    root = tmp_path_factory.mktemp("shaky")
    us, disk = moved_in(template, root / "place"), FaultyDisk(root / "disk")
    us.install.environ |= disk.environ
    with us.install.up() as server:
        yield Shaky(us, disk, server, us.ann(server))


DISK_FAULTS = [
    ("database-full", Trouble.FAIL_WRITE, LOG, errno.ENOSPC),
    ("database-write-error", Trouble.FAIL_WRITE, LOG, errno.EIO),
    ("database-sync-error", Trouble.FAIL_SYNC, LOG, errno.EIO),
    ("database-read-error", Trouble.FAIL_READ, DATABASE, errno.EIO),
    ("database-read-only", Trouble.FAIL_WRITE, LOG, errno.EROFS),
    ("database-short-writes", Trouble.SHORT_WRITE, LOG, 0),
    ("chat-full", Trouble.FAIL_WRITE, CHAT, errno.ENOSPC),
    ("chat-write-error", Trouble.FAIL_WRITE, CHAT, errno.EIO),
    ("chat-sync-error", Trouble.FAIL_SYNC, CHAT, errno.EIO),
    ("chat-short-writes", Trouble.SHORT_WRITE, CHAT, 0),
]


@needs_compiler
@pytest.mark.parametrize(("row", "trouble", "path", "error"), DISK_FAULTS)
def test_a_failing_disk(
    shaky: Shaky,
    record_property: Callable[[str, object], None],
    row: str,
    trouble: Trouble,
    path: str,
    error: int,
) -> None:
    record_property("fault", row)
    assert shaky.say() == "ok"
    with shaky.disk.in_trouble(trouble, path, error):
        assert {shaky.say() for _ in range(5)} == ROWS[row].seen
        if row == "database-full":
            shaky.wait_until_ready(503)
        if row == "chat-sync-error":
            time.sleep(0.5)  # the fault is in the background; in_trouble() checks it happened
    assert shaky.say() == "ok"
    shaky.wait_until_ready(200)
    shaky.team.sent_messages.check()


@needs_compiler
def test_clock_jumps(shaky: Shaky, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "clock-jumps")
    seen = {shaky.say()}
    try:
        shaky.disk.set_clock(2 * 86_400)
        seen.add(shaky.say())
        shaky.ann = shaky.team.ann(shaky.server)
        seen.add(shaky.say())
        shaky.disk.set_clock(-86_400)
        seen.add(shaky.say())
    finally:
        shaky.disk.set_clock(0)
    assert seen == ROWS["clock-jumps"].seen
    bob = shaky.team.bob(shaky.server)
    pending = bob.result("get_pending_messages", limit=100)["pending_messages"]
    assert [message["id"] for message in pending] == list(shaky.team.sent_messages.acknowledged)[
        :100
    ]
    shaky.team.sent_messages.check()


@needs_compiler
def test_clock_back_while_files_fail(
    shaky: Shaky, record_property: Callable[[str, object], None]
) -> None:
    record_property("fault", "clock-back-while-files-fail")
    try:
        with shaky.disk.in_trouble(Trouble.FAIL_WRITE, CHAT, errno.EIO):
            seen = {shaky.say()}
        shaky.disk.set_clock(-86_400)
        seen.add(shaky.say())
        shaky.team.sent_messages.check()
    finally:
        shaky.disk.set_clock(0)
    assert seen == ROWS["clock-back-while-files-fail"].seen


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 3 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(file: Path) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as out:
        while out.write(b"x" * 4096):
            pass


def test_real_full_disk(
    template: Template,
    small_disk: Path,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("fault", "real-full-disk")
    us = moved_in(template, small_disk / "place")
    ballast = small_disk / "ballast"
    with us.install.up() as server:
        ann = us.ann(server)
        seen = {us.sent_messages.say(ann)}
        fill(ballast)
        deadline = time.monotonic() + 60
        while "store_unavailable" not in seen:
            assert time.monotonic() < deadline
            seen.add(us.sent_messages.say(ann))
        ballast.unlink()
        assert us.sent_messages.say(ann) == "ok"
        us.sent_messages.check()
    assert seen == ROWS["real-full-disk"].seen


def test_read_only_directory(
    us: Team, small_disk: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("fault", "read-only-directory")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    us.install.environ["AIPM_DATA_DIR"] = str(small_disk / "data")
    done = us.install.run("up", "--port", "0", check=2)
    assert str(small_disk) in done.stderr
    assert "Read-only file system" in done.stderr
    assert done.stderr.count("\n") == 1
    del us.install.environ["AIPM_DATA_DIR"]
    with us.install.up() as server:
        assert us.sent_messages.say(us.ann(server)) == "ok"
