"""``aipm chat`` and what goes wrong around it: servers that die and come back, and Ctrl-C."""

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aipm_devkit.program import AIPM, Install, Server

SCRIPT = [
    [{"text": "one"}],
    [{"text": "begun", "stream": True}, {"wait_ms": 60_000}, {"text": "never said"}],
    [{"text": "three"}],
]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    made = Install.make(tmp_path, f'[plugins.agent_loop]\nscript = "{script}"\n')
    made.run("project", "add", "p")
    made.run("agent", "add", "bot", "--project", "p")
    made.run("agent", "add", "ann", "--project", "p", "--type", "human")
    made.environ["AIPM_UI_TOKEN"] = made.json("token", "create", "--agent", "ann")["token"]
    return made


class Terminal:
    """Somebody who types into ``aipm chat`` and reads what it says."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.shown = ""

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def read_until(self, words: str) -> None:
        assert self.process.stdout is not None
        while words not in self.shown:
            more = os.read(self.process.stdout.fileno(), 65_536)
            assert more, f"it ended after {self.shown!r}"
            self.shown += more.decode()

    def end(self) -> int:
        out, _ = self.process.communicate(timeout=60)
        self.shown += out.decode()
        return self.process.returncode


@contextmanager
def chatting(install: Install, server: Server, *args: str) -> Iterator[Terminal]:
    with subprocess.Popen(
        [AIPM, "chat", "bot", "--project", "p", "--url", server.url, *args],
        cwd=install.root,
        env={**install.env(), "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield Terminal(process)
        finally:
            process.kill()


def open_sessions(install: Install) -> list[str]:
    with sqlite3.connect(install.root / ".aipm-data" / "aipm.db") as db:
        return [row[0] for row in db.execute("select id from ui_sessions where closed_at is null")]


def stopped(server: Server) -> None:
    server.process.kill()
    server.process.wait()


def test_a_server_that_dies_and_comes_back_is_talked_on_with(install: Install) -> None:
    with install.up() as server:
        port = str(urlsplit(server.url).port)
        with chatting(install, server) as terminal:
            terminal.type("hello")
            terminal.read_until("bot │ one")
            stopped(server)
            terminal.read_until("the connection broke")
            terminal.type("are you there?")  # while nobody is
            with install.up("--port", port) as again:
                terminal.read_until("connected again")
                terminal.read_until("begun")
                stopped(again)
            with install.up("--port", port):
                terminal.type("and now?")
                terminal.read_until("bot │ three")
                assert terminal.end() == 0, terminal.shown
                assert open_sessions(install) == []
    assert terminal.shown.count("one") == terminal.shown.count("begun") == 1
    assert terminal.shown.count("connected again") == 2
    assert "run_interrupted" in terminal.shown
    assert "never said" not in terminal.shown


def test_a_server_that_stays_away_is_given_up(install: Install) -> None:
    with install.up() as server, chatting(install, server) as terminal:
        terminal.type("hello")
        terminal.read_until("bot │ one")
        stopped(server)
        terminal.read_until("does not come back")
        assert terminal.end() == 1


def test_ctrl_c_stops_the_agent_and_then_the_chat(install: Install) -> None:
    with install.up() as server, chatting(install, server) as terminal:
        terminal.type("hello")
        terminal.type("work")
        terminal.read_until("begun")
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("(stopped)")
        terminal.type("go on")
        terminal.read_until("bot │ three")
        terminal.read_until("three\n> ")  # it waits for the person again
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 0, terminal.shown
    assert "never said" not in terminal.shown
