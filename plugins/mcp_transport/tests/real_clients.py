"""Real agent programs from npm, with a scripted model behind them: ``make test-clients``.

Each logs in, takes its task, is interrupted, reads the notification and reports completion. What
it really sends is recorded; ``make test`` replays the recordings through every front.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from aipm_devkit.program import Install
from aipm_mcp_fixtures.model import DONE, Script, listening
from aipm_mcp_fixtures.node import CLIENTS, HOME, Node, NoNode, found

pytestmark = pytest.mark.timeout(900)
RECORDINGS = Path(__file__).parent / "transcripts" / "recorded"
Start: TypeAlias = Callable[[Path, str, dict[str, Any]], tuple[list[str], dict[str, str]]]
PROMPT = "run the script"
MESSAGE = "leave the database alone"


@pytest.fixture(scope="session")
def node() -> Node:
    try:
        return found(CLIENTS, patience=600)
    except NoNode as error:
        pytest.fail(f"the clients cannot be had here: {error}")


@pytest.fixture
def install(tmp_path: Path) -> Install:
    made = Install.make(tmp_path / "team", 'locale = "en"\n')
    made.run("project", "add", "demo")
    return made


def claude(home: Path, model: str, entry: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"aipm": entry}}))
    options = ["--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__aipm"]
    environ = {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "dummy",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    return ["claude", "-p", PROMPT, *options], environ


def codex(home: Path, model: str, entry: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    lines = [
        'model = "scripted"',
        'model_provider = "mock"',
        'approval_policy = "never"',
        "[model_providers.mock]",
        'name = "mock"',
        f'base_url = "{model}/v1"',
        'wire_api = "responses"',
        'env_key = "DUMMY_KEY"',
        "[mcp_servers.aipm]",
        *(f"{key} = {json.dumps(value)}" for key, value in entry.items() if key != "type"),
    ]
    (home / "config.toml").write_text("\n".join(lines) + "\n")
    environ = {"CODEX_HOME": str(home), "DUMMY_KEY": "dummy"}
    return ["codex", "exec", "--skip-git-repo-check", PROMPT], environ


def gemini(home: Path, model: str, entry: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    if "url" in entry:
        entry = {"httpUrl": entry["url"]}
    own = home / ".gemini"
    own.mkdir()
    (own / "trustedFolders.json").write_text(json.dumps({str(home): "TRUST_FOLDER"}))
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {"aipm": {**entry, "trust": True}},
        "telemetry": {"enabled": False},
    }
    (own / "settings.json").write_text(json.dumps(settings))
    environ = {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": model,
        "GEMINI_TELEMETRY_ENABLED": "false",
    }
    return ["gemini", "-m", "gemini-2.5-pro", "-y", "-p", PROMPT], environ


def script_of(install: Install) -> Script:
    added = install.json("agent", "add", "worker", "--project", "demo")
    task = ["--project", "demo", "--assignee", "worker", "--status", "in_progress"]
    install.run("task", "add", "--title", "paint the shed", *task)
    login = {"agent_id": "worker", "passkey": added["passkey"], "project_id": "demo"}
    interrupt = ["--type", "interrupt", "--action", "pause", "--message", MESSAGE]
    return Script(
        [
            ("authenticate", {**login, "purpose": "task"}),
            ("get_next_action", {"timeout_seconds": 5}),
            ("get_my_task", {}),
            ("list_tasks", {}),
            ("get_notifications", {}),
            ("report_completed", {"result": "success", "summary": "painted"}),
        ],
        before={
            3: lambda: install.run("notify", "worker", "--project", "demo", *interrupt),
        },
    )


def entry_of(install: Install, where: str, record: Path) -> dict[str, Any]:
    """Return a client's entry for this installation; over stdio what it sends is recorded."""
    aipm = Path(sys.executable).with_name("aipm")
    served = shlex.join([str(aipm), "mcp", "--config", str(install.root / "aipm.toml")])
    recorded = f"tee {shlex.quote(str(record))} | {served}"
    if where == "stdio":
        return {"command": "/bin/sh", "args": ["-c", recorded]}
    return {"type": "http", "url": where}


def run_client(node: Node, start: Start, home: Path, model: str, entry: Any) -> str:
    """Run the program with nothing of ours in its environment and no way out of this machine."""
    home.mkdir()
    (name, *arguments), environ = start(home, model, entry)
    nowhere = "http://127.0.0.1:9"
    done = subprocess.run(
        [HOME / "node_modules" / ".bin" / name, *arguments],
        cwd=home,
        env={
            "PATH": f"{node.binary.parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(home),
            "HTTP_PROXY": nowhere,
            "HTTPS_PROXY": nowhere,
            "NO_PROXY": "127.0.0.1,localhost",
            **environ,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("where", ["stdio", "http"])
@pytest.mark.parametrize("start", [claude, codex, gemini], ids=lambda start: start.__name__)
def test_a_day_of_an_agent(
    node: Node, install: Install, start: Start, where: str, tmp_path: Path
) -> None:
    script, record = script_of(install), tmp_path / "sent.jsonl"
    with listening(script) as model, install.up() as server:
        entry = entry_of(install, server.mcp if where == "http" else where, record)
        told = run_client(node, start, tmp_path / "home", model, entry)
    assert len(script.seen) == 6, told
    assert DONE in told
    assert "get_next_action" in script.context
    login, action, mine, replaced, read, completed = script.seen
    assert '"session_token' in login.replace("\\", "")
    assert "paint the shed" in action + mine
    assert "get_notifications()" in replaced
    assert "paint the shed" not in replaced
    assert MESSAGE in read
    assert "success" in completed
    (task,) = install.json("task", "list")
    assert task["status"] == "done"
    if where == "stdio":
        keep(start.__name__, record)


def keep(name: str, record: Path) -> None:
    """Write what the client sent as a fixture, without its secrets."""
    RECORDINGS.mkdir(exist_ok=True)
    text = re.sub(r"aipm_(pk|st)_[A-Za-z0-9_-]+", r"aipm_\1_", record.read_text(encoding="utf-8"))
    (RECORDINGS / f"{name}.jsonl").write_text(text, encoding="utf-8")
