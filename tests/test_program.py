"""The installed program, as a person at a shell meets it."""

import json
import stat
from pathlib import Path

import httpx

from aipm_core.testkit import Install


def test_first_steps_of_a_team_lead(tmp_path: Path) -> None:
    install = Install(tmp_path)
    install.run("init")
    assert (tmp_path / "aipm.toml").read_text(encoding="utf-8").startswith("# Settings of aipm")
    project = install.json("project", "add", "demo", "--dir", "work")
    assert project["id"] == "demo"
    assert project["directory"] == str((tmp_path / "work").resolve())
    agent = install.json("agent", "add", "worker-1", "--project", "demo")
    assert agent["passkey"].startswith("aipm_pk_")
    assert [row["id"] for row in install.json("agent", "list")] == ["worker-1"]
    assert "passkey" not in install.json("agent", "list")[0]


def test_data_is_private(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "list")
    data = tmp_path / ".aipm-data"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "aipm.db").stat().st_mode) == 0o600


def test_init_never_overwrites(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "locale = 'en'\n")
    assert json.loads(install.run("init", "--json").stdout)["data"]["written"] is False
    assert (tmp_path / "aipm.toml").read_text(encoding="utf-8") == "locale = 'en'\n"


def test_up_answers_and_stops_cleanly(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    with install.up() as server:
        assert set(server.ready) == {"event", "url", "mcp", "ws"}
        assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{server.url}/readyz").status_code == 200
    assert server.process.returncode == 0
