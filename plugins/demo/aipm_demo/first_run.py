"""What ``make run`` does: a demo project on a first start, then ``aipm up``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import sys
from pathlib import Path

from aipm_cli.api import run_command, say

from aipm_demo.demo_project import TASKS, language, write_files

DEMO = Path("demo")
AGENTS = (
    ("anna", "--type", "human", "--role", "manager", "--name", "Anna"),
    ("worker-1", "--parent", "anna", "--name", "Worker 1", "--program", "demo-builder"),
    ("worker-2", "--parent", "anna", "--name", "Worker 2", "--program", "demo-reviewer"),
)
NEXT = """
What next, in another terminal:
  {aipm} runs list --config {config}
  {aipm} say worker-1 "Hello" --project demo --as anna --config {config}
  {aipm} agent edit worker-1 --program script --config {config}
"""


def start() -> int:
    """Prepare ``demo/`` once and serve it."""
    DEMO.mkdir(exist_ok=True)
    os.chdir(DEMO)
    if not Path("aipm.toml").exists():
        _prepare(language())
    port = _port(sys.argv[1:])
    page = str(_quietly("open", "--as", "anna", "--print")["url"])
    if port is not None:
        page = f"http://127.0.0.1:{port}/#{page.partition('/#')[2]}"
    say(f"The page, logged in as anna (works once, for five minutes):\n  {page}")
    say(NEXT.format(aipm=_program(), config=Path("aipm.toml").resolve()))
    return run_command("up", *sys.argv[1:], *(("--port", str(port)) if port is not None else ()))


def _prepare(locale: str) -> None:
    """Make the project, its members and its backlog; nothing is left where that fails."""
    _quietly("init")
    try:
        _quietly("project", "add", "demo", "--dir", "work", "--name", "Demo")
        write_files(Path(), locale)
    except BaseException:
        Path("aipm.toml").unlink()
        raise
    for agent, *options in AGENTS:
        made = _quietly("agent", "add", agent, "--project", "demo", *options)
        say(f"{agent:<10} passkey {made['passkey']}")
    say("(shown once; only hashes are stored; delete demo/ to start anew)\n")
    ids: list[str] = []
    for title, assignee, before in TASKS[locale]:
        more = ("--assignee", assignee, "--status", "todo") if assignee else ()
        after = ("--depends-on", ids[before]) if before is not None else ()
        made = _quietly("task", "add", "--project", "demo", "--title", title, *more, *after)
        ids.append(made["id"])


def _port(arguments: list[str]) -> int | None:
    """Return the port to use where one was named; for 0 one that is free."""
    if "--port" not in arguments[:-1]:
        return None
    wanted = arguments[arguments.index("--port") + 1]
    if wanted != "0":
        return int(wanted) if wanted.isdigit() else None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _program() -> str:
    """Return how ``aipm`` is called from anywhere."""
    return str(Path(sys.executable).with_name("aipm"))


def _quietly(*arguments: str) -> dict[str, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run_command(*arguments, "--json")
    if code:
        sys.exit(code)
    data: dict[str, str] = json.loads(out.getvalue())["data"]
    return data


if __name__ == "__main__":
    sys.exit(start())
