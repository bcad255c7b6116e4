"""``aipm mcp-config``: each snippet against what its program documents, and a real start."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Install
from aipm_mcp_fixtures.wire import HELLO, request, stdio

CLIENTS = ("claude", "codex", "gemini", "cursor", "vscode")
FILES = {
    "claude": ".mcp.json",
    "codex": "~/.codex/config.toml",
    "gemini": "~/.gemini/settings.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
}
URL = "http://127.0.0.1:9137/mcp"


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    place = tmp_path_factory.mktemp("名前 with space")
    return Install.make(place, "[server]\nport = 9137\n")


def snippet(install: Install, client: str, *options: str) -> Any:
    data = install.json("mcp-config", "--client", client, *options)
    assert (data["client"], data["file"]) == (client, FILES[client])
    assert data["format"] == ("toml" if client == "codex" else "json")
    parse = tomllib.loads if client == "codex" else json.loads
    return parse(data["snippet"])


def entry_of(parsed: Any, client: str) -> Any:
    table = {"codex": "mcp_servers", "vscode": "servers"}.get(client, "mcpServers")
    return parsed[table]["aipm"]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_snippet_starts_a_server_from_anywhere(install: Install, client: str) -> None:
    entry = entry_of(snippet(install, client), client)
    assert Path(entry["command"]).is_absolute()
    assert os.access(entry["command"], os.X_OK)
    bare = {"PATH": "/nonexistent", "HOME": "/nonexistent", **entry.get("env", {})}
    with stdio([entry["command"], *entry["args"]], Path("/"), bare) as server:
        answer = server.ask(request("legacy", "initialize", HELLO))
        assert answer["result"]["serverInfo"]["name"] == "aipm"
        assert server.finish()[0] == 0


@pytest.mark.parametrize(
    ("client", "place"),
    [
        ("claude", "${AIPM_SESSION_TOKEN:-}"),
        ("gemini", "${AIPM_SESSION_TOKEN}"),
        ("cursor", "${env:AIPM_SESSION_TOKEN}"),
        ("vscode", "${input:aipm-session-token}"),
    ],
)
def test_the_token_comes_from_the_environment(install: Install, client: str, place: str) -> None:
    local = entry_of(snippet(install, client), client)
    assert local["env"] == {"AIPM_SESSION_TOKEN": place}
    remote = entry_of(snippet(install, client, "--http"), client)
    assert remote["headers"] == {"Authorization": f"Bearer {place}"}
    assert "command" not in remote


def test_claude_and_vscode_name_the_transport(install: Install) -> None:
    for client in ("claude", "vscode"):
        assert entry_of(snippet(install, client), client)["type"] == "stdio"
        remote = entry_of(snippet(install, client, "--http"), client)
        assert (remote["type"], remote["url"]) == ("http", URL)


def test_vscode_asks_for_the_token(install: Install) -> None:
    (question,) = snippet(install, "vscode")["inputs"]
    assert (question["type"], question["id"]) == ("promptString", "aipm-session-token")
    assert question["password"] is True


def test_gemini_wants_http_url(install: Install) -> None:
    remote = entry_of(snippet(install, "gemini", "--http"), "gemini")
    assert remote["httpUrl"] == URL
    assert "url" not in remote


def test_cursor_tells_transports_apart_by_their_keys(install: Install) -> None:
    assert entry_of(snippet(install, "cursor"), "cursor")["command"]
    assert entry_of(snippet(install, "cursor", "--http"), "cursor")["url"] == URL


def test_codex_names_variables_and_never_holds_a_token(install: Install) -> None:
    local = entry_of(snippet(install, "codex"), "codex")
    assert local.keys() == {"command", "args", "env_vars", "tool_timeout_sec"}
    assert local["env_vars"] == ["AIPM_SESSION_TOKEN"]
    remote = entry_of(snippet(install, "codex", "--http"), "codex")
    # A variable that is not set would leave Codex without our tools; `aipm connect` brings a token.
    assert remote.keys() == {"url", "tool_timeout_sec"}
    assert remote["url"] == URL


def test_stdout_holds_the_snippet_and_nothing_else(install: Install) -> None:
    done = install.run("mcp-config", "--client", "codex")
    assert tomllib.loads(done.stdout)["mcp_servers"]
    assert done.stderr.strip().endswith("~/.codex/config.toml")


def test_a_server_behind_a_proxy_is_reached_through_it(tmp_path: Path) -> None:
    settings = '[server]\nhost = "0.0.0.0"\nbehind_tls_proxy = true\nallowed_hosts = ["ai.test"]\n'
    install = Install.make(tmp_path, settings)
    assert entry_of(snippet(install, "claude", "--http"), "claude")["url"] == "https://ai.test/mcp"


@pytest.mark.parametrize(
    ("settings", "arguments", "words"),
    [
        ("", ["--client", "emacs"], "emacs"),
        ("[server]\nport = 0\n", ["--client", "claude", "--http"], "port"),
        ("", [], "--client"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path, settings: str, arguments: list[str], words: str
) -> None:
    failed: subprocess.CompletedProcess[str] = Install.make(tmp_path, settings).run(
        "mcp-config", *arguments, check=2
    )
    assert words in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert failed.stdout == ""
