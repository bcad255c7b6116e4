"""``aipm connect``: settings are merged, nothing is lost, and the program is one of the team."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Install, Server
from aipm_mcp_fixtures.wire import HELLO, request, stdio

from tests.agents import Agent

CLIENTS = ("claude", "codex", "gemini", "opencode", "cursor", "vscode")
FILES = {
    "claude": ".mcp.json",
    "codex": "codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
}
TABLES = {"codex": "mcp_servers", "vscode": "servers", "opencode": "mcp"}
WHO = ("--agent", "ann", "--project", "p")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Install, Server]]:
    install = Install.make(tmp_path_factory.mktemp("connect"), 'locale = "en"\n')
    install.run("project", "add", "p", "--dir", "work")
    install.run("agent", "add", "mia", "--project", "p", "--type", "human", "--role", "manager")
    install.run("agent", "add", "ann", "--project", "p", "--parent", "mia")
    install.environ["CODEX_HOME"] = str(install.root / "work" / "codex")
    with install.up() as server:
        yield install, server


def written(install: Install, client: str) -> tuple[Path, Any]:
    file = install.root / "work" / FILES[client]
    text = file.read_text(encoding="utf-8")
    parsed = tomllib.loads(text) if client == "codex" else json.loads(text)
    return file, parsed[TABLES.get(client, "mcpServers")]


def connect(install: Install, client: str, *options: str) -> Any:
    return install.json("connect", client, *WHO, "--dir", "work", *options)


@pytest.mark.parametrize("client", CLIENTS)
def test_over_stdio_the_program_needs_no_login(team: tuple[Install, Server], client: str) -> None:
    install, _ = team
    connect(install, client)
    file, servers = written(install, client)
    entry = servers["aipm"]
    command = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    assert "aipm_at_" not in file.read_text(encoding="utf-8")
    token = install.root / "work" / ".aipm" / "ann@p.token"
    assert token.stat().st_mode & 0o777 == 0o600
    bare = {"PATH": "/nonexistent", "HOME": "/nonexistent"}
    with stdio(command, install.root / "work", bare) as server:
        server.ask(request("legacy", "initialize", HELLO))
        server.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"name": "get_my_task", "arguments": {}}
        answer = server.ask(request("legacy", "tools/call", call))
        assert answer["result"]["structuredContent"]["result"] == {"task": None}


@pytest.mark.parametrize("client", CLIENTS)
def test_over_http_the_header_is_in_the_settings(team: tuple[Install, Server], client: str) -> None:
    install, server = team
    (install.root / "work" / ".git" / "info").mkdir(parents=True, exist_ok=True)
    away = Install(install.root, {**install.environ, "AIPM_SERVER_URL": server.url})
    away.environ["AIPM_UI_TOKEN"] = install.json("token", "create", "--agent", "mia")["token"]
    connect(away, client)
    file, servers = written(install, client)
    entry = servers["aipm"]
    headers = entry["http_headers"] if client == "codex" else entry["headers"]
    url = entry.get("url") or entry["httpUrl"]
    assert url == server.mcp
    agent = Agent(url, authorization=headers["Authorization"])
    assert agent.result("get_my_task") == {"task": None}
    assert file.stat().st_mode & 0o777 == 0o600
    excluded = (install.root / "work" / ".git" / "info" / "exclude").read_text()
    assert f"/{FILES[client]}" in excluded.splitlines()


def test_what_stood_there_stays_and_is_kept(team: tuple[Install, Server]) -> None:
    install, _ = team
    place = install.root / "work" / "other"
    place.mkdir()
    mine = {"mcpServers": {"mine": {"command": "x"}, "aipm": {"old": 1}}, "more": [1]}
    (place / ".mcp.json").write_text(json.dumps(mine))
    data = install.json("connect", "claude", *WHO, "--dir", "work/other")
    now = json.loads((place / ".mcp.json").read_text())
    assert (now["more"], now["mcpServers"]["mine"]) == ([1], {"command": "x"})
    assert "old" not in now["mcpServers"]["aipm"]
    assert now["mcpServers"]["aipm"]["args"][:2] == ["mcp", "--config"]
    assert now["mcpServers"]["aipm"]["args"][2] == "../../aipm.toml"
    assert json.loads(Path(install.root / data["backup"]).read_text()) == mine
    install.json("connect", "claude", *WHO, "--dir", "work/other")
    assert json.loads(Path(install.root / data["backup"]).read_text()) == mine
    codex = install.root / "work" / "codex" / "config.toml"
    old = '[mcp_servers.aipm]\nurl = "u"\n[mcp_servers.aipm.env]\nA = "b"\n'
    codex.write_text(f'model = "m"\n{old}')
    connect(install, "codex")
    parsed = tomllib.loads(codex.read_text())
    assert parsed["model"] == "m"
    assert "env" not in parsed["mcp_servers"]["aipm"]


def test_what_cannot_be_read_is_not_written(team: tuple[Install, Server]) -> None:
    install, _ = team
    place = install.root / "work" / "broken"
    place.mkdir()
    tokens = install.json("agent", "tokens", "ann", "--project", "p")
    for text in ("{ // a comment\n}", "[]", '{"mcpServers": []}'):
        (place / ".mcp.json").write_text(text)
        said = install.run("connect", "claude", *WHO, "--dir", "work/broken", check=2).stderr
        assert "nothing was written" in said
        assert (place / ".mcp.json").read_text() == text
    assert [each.name for each in place.iterdir()] == [".mcp.json"]
    assert install.json("agent", "tokens", "ann", "--project", "p") == tokens
    install.run("connect", "claude", "--agent", "ann", check=2)
    (place / ".mcp.json").unlink()
    nobody = ("--agent", "nobody", "--project", "p", "--dir", "work/broken")
    install.run("connect", "claude", *nobody, check=3)
    shown = install.run("connect", "claude", *WHO, "--dir", "work/broken", "--print").stdout
    assert json.loads(shown)["mcpServers"]["aipm"]["args"][-1] == ".aipm/ann@p.token"
    assert list(place.iterdir()) == []


def test_a_token_opens_sessions_until_it_is_revoked(team: tuple[Install, Server]) -> None:
    install, server = team
    install.run("agent", "add", "bea", "--project", "p", "--parent", "mia")
    made = install.json("agent", "token", "bea", "--project", "p")
    bea = Agent(server.mcp, authorization=f"Bearer {made['token']}")

    def sessions() -> list[str]:
        found = install.json("session", "list")
        return [one["id"] for one in found if one["agent_id"] == "bea"]

    assert bea.result("get_my_task") == {"task": None}
    (first,) = sessions()
    assert bea.result("get_my_task") == {"task": None}
    assert sessions() == [first]
    bea.result("logout")
    assert sessions() == []
    assert bea.result("get_my_task") == {"task": None}
    (second,) = sessions()
    assert second != first
    both = bea.call("get_my_task", session_token="aipm_st_x")
    assert both["error"]["code"] == "session_token_mismatch"
    (row,) = install.json("agent", "tokens", "bea", "--project", "p")
    assert row["used_at"]
    assert "token" not in row
    install.run("agent", "revoke", "bea", made["id"][:12], "--project", "p")
    assert bea.call("get_my_task")["error"]["code"] == "session_invalid"
    assert sessions() == []
    again = install.json("agent", "token", "bea", "--project", "p")
    bea = Agent(server.mcp, authorization=f"Bearer {again['token']}")
    assert bea.result("get_my_task") == {"task": None}
    install.run("agent", "rekey", "bea")
    assert bea.call("get_my_task")["error"]["code"] == "session_invalid"
    assert "is a person" in install.run("agent", "token", "mia", "--project", "p", check=4).stderr
    assert made["token"] not in server.log
