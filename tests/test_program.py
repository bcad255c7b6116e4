"""The installed program, as a person at a shell meets it."""

import json
import stat
from pathlib import Path

import httpx
from aipm_devkit.program import Install


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


def test_version_and_completion_are_there(tmp_path: Path) -> None:
    install = Install(tmp_path)
    assert install.run("--version").stdout.startswith("aipm 0.")
    assert "--install-completion" in install.run("--help").stdout


EXIT_CODES = [
    (2, ("frobnicate",), "No such command"),
    (2, ("project", "add"), "Missing argument"),
    (2, ("project", "add", "Bad Id"), "use a-z, 0-9, - and _"),
    (2, ("project", "add", "system"), "no reserved word"),
    (2, ("agent", "add", "x", "--project", "p", "--type", "robot"), "'robot' is not one of"),
    (3, ("agent", "add", "x", "--project", "nowhere"), "no project nowhere"),
    (3, ("agent", "add", "x", "--project", "p", "--parent", "ghost"), "no agent ghost"),
    (3, ("agent", "assign", "ghost", "--project", "p"), "no agent ghost"),
    (3, ("token", "create", "--agent", "ghost"), "no agent ghost"),
    (3, ("token", "revoke", "uit_x"), "no token"),
    (3, ("plugins", "info", "ghost"), "no plugin 'ghost'"),
    (4, ("project", "add", "p"), "is taken"),
    (4, ("agent", "add", "w", "--project", "p"), "is taken"),
    (4, ("token", "create", "--agent", "w"), "is not a person"),
]


def test_exit_codes_and_one_sentence_errors(tmp_path: Path) -> None:
    install = Install.make(tmp_path, 'locale = "en"\n')
    install.run("project", "add", "p")
    install.run("agent", "add", "w", "--project", "p")
    before = install.json("agent", "list")
    for code, arguments, sentence in EXIT_CODES:
        done = install.run(*arguments, check=code)
        assert sentence in done.stderr
        assert done.stderr.startswith("aipm: ")
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""
    assert install.json("agent", "list") == before


def test_text_from_others_is_harmless_in_a_terminal(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p", "--name", "\x1b[2Jred\u202e[bold]x")
    shown = install.run("project", "list").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]" in shown
