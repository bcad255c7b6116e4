"""``make run``: a demo project on the first start, then the server."""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import httpx
from aipm_devkit.program import Install


def test_up_tells_a_person_how_to_connect_and_make_run_prepares_a_team(tmp_path: Path) -> None:
    """``make run`` is ``aipm up`` for people, with a demo project on the first start only."""
    command = [sys.executable, "-m", "aipm_demo.first_run", "--port", "0"]
    shown = []
    for _ in range(2):
        lines: list[str] = []
        environ = Install(tmp_path).env()
        with subprocess.Popen(
            command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            while not lines or "Ctrl-C" not in lines[-1]:
                line = server.stdout.readline()
                assert line, lines
                lines.append(line)
            server.terminate()
            assert server.wait(20) == 0
        shown.append("".join(lines))
    assert shown[0].count("aipm_pk_") == 3
    assert "aipm_pk_" not in shown[1]
    for text in shown:
        assert "aipm mcp-config --client claude" in text
        assert "/mcp" in text


def test_the_page_lives_within_a_minute_and_the_next_lines_can_be_typed(tmp_path: Path) -> None:
    """The address logs in, agents are at work on the backlog, and what is told to type works."""
    command = [sys.executable, "-m", "aipm_demo.first_run", "--port", "0"]
    environ = Install(tmp_path).env() | {"LANG": "en_US.UTF-8", "LC_ALL": ""}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            lines = list(iter_until(server.stdout, "Ctrl-C"))
            page = next(line.strip() for line in lines if "/#code=" in line)
            url, _, code = page.partition("/#code=")
            token = httpx.post(f"{url}/api/login", json={"code": code}).json()["token"]
            headers = {"authorization": f"Bearer {token}"}
            with httpx.Client(base_url=url, headers=headers, timeout=30) as http:
                state = wait_for(http, lambda views: "running" in states(views))
                assert len(state["tasks"]) >= 7
                wait_for(http, lambda views: "ended" in states(views) and views["inbox"])
            typed = [line.strip() for line in lines if line.startswith("  /")]
            assert len(typed) == 3
            for line in typed:
                done = subprocess.run(shlex.split(line), capture_output=True, text=True, cwd="/")
                assert done.returncode == 0, (line, done.stderr)
        finally:
            server.terminate()
            assert server.wait(20) == 0


def iter_until(lines: IO[str], word: str) -> Iterator[str]:
    for line in lines:
        yield line
        if word in line:
            return
    raise AssertionError("the server did not start")


def states(views: dict[str, Any]) -> set[str]:
    return {run["state"] for run in views["runs"].values()}


def wait_for(http: httpx.Client, look: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while True:
        views: dict[str, Any] = http.get("/api/projects/demo/state").json()["views"]
        if look(views):
            return views
        assert time.monotonic() < deadline, views["runs"]
        time.sleep(0.1)


def test_make_run_stops_where_the_demo_cannot_be_prepared(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/work").touch()
    command = [sys.executable, "-m", "aipm_demo.first_run"]
    done = subprocess.run(
        command, cwd=tmp_path, env=Install(tmp_path).env(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "work cannot be used" in done.stderr
