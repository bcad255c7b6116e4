"""At a real terminal: what moves, and how a person ends it."""

import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aipm_devkit.program import AIPM, Install

IN_TIME = 60
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A program whose input and output are a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self.text = ""
        self._screen = screen

    def wait_for(self, words: str) -> str:
        """Read until the words were shown."""
        deadline = time.monotonic() + IN_TIME
        while words not in self.text:
            assert time.monotonic() < deadline, self.text
            assert self._read(), f"it ended without {words!r}: {self.text}"
        return self.text

    def finish(self) -> int:
        """Read the rest; return the exit code."""
        while self._read():
            pass
        return self.process.wait(IN_TIME)

    def _read(self) -> bool:
        try:
            piece = os.read(self._screen, 65_536)
        except OSError:  # Linux says so when the last writer is gone
            return False
        self.text += _ESCAPES.sub("", piece.decode(errors="replace"))
        return bool(piece)


@contextmanager
def terminal(install: Install, *arguments: str) -> Iterator[Terminal]:
    screen, inside = pty.openpty()
    environ = {**install.env(), "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        [AIPM, *arguments],
        cwd=install.root,
        env=environ,
        # Whoever starts the tests in the background hands on a SIGINT that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        stdin=inside,
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    try:
        yield Terminal(process, screen)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(screen)


def test_the_tour_is_a_panel_that_moves_and_a_story_that_stays(tmp_path: Path) -> None:
    with terminal(Install(tmp_path), "demo", "--fast") as shown:
        assert shown.finish() == 0
    assert "team" in shown.text
    for words in ("finds it with aipm inbox", "That was all real but the agents' minds"):
        assert words in shown.text


def test_status_stays_on_the_screen_until_ctrl_c(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    install.run("agent", "add", "ann", "--project", "p")
    with terminal(install, "status", "--watch") as shown:
        shown.wait_for("ann")
        install.run("agent", "add", "bob", "--project", "p")
        install.run("notify", "ann", "--project", "p", "--message", "look", "--type", "message")
        shown.wait_for("bob")  # a change is shown without being asked for
        shown.process.send_signal(signal.SIGINT)
        assert shown.finish() == 0
    assert "Traceback" not in shown.text


@pytest.mark.parametrize("words", [("backup", "copy.db")])
def test_a_long_copy_shows_how_far_it_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    with terminal(install, *words) as shown:
        assert shown.finish() == 0
    assert "copying" in shown.text
    assert (tmp_path / "copy.db").is_file()
