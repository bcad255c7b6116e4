"""What ``make run`` does: a demo project on a first start, then ``aipm up``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from aipm_core.cli import main
from aipm_core.commands import say

DEMO = Path("demo")
AGENTS = (
    ("anna", "--type", "human", "--role", "manager", "--name", "Anna"),
    ("worker-1", "--parent", "anna", "--name", "Worker 1"),
    ("worker-2", "--parent", "anna", "--name", "Worker 2"),
)


def start() -> int:
    """Prepare ``demo/`` once and serve it."""
    DEMO.mkdir(exist_ok=True)
    os.chdir(DEMO)
    if not Path("aipm.toml").exists():
        _quietly("init")
        _quietly("project", "add", "demo", "--dir", "work", "--name", "Demo")
        for agent, *options in AGENTS:
            made = _quietly("agent", "add", agent, "--project", "demo", *options)
            say(f"{agent:<10} passkey {made['passkey']}")
        say("(shown once; only hashes are stored; delete demo/ to start anew)\n")
    return main(["up", *sys.argv[1:]])


def _quietly(*arguments: str) -> dict[str, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([*arguments, "--json"])
    if code:
        sys.exit(code)
    data: dict[str, str] = json.loads(out.getvalue())["data"]
    return data


if __name__ == "__main__":
    sys.exit(start())
