"""What people read at a shell: tables and sentences, and one sentence for what went wrong."""

import json
import logging
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from aipm_cli import main
from aipm_cli.command_runtime import with_runtime
from aipm_cli.failures import foreseen
from aipm_devkit.program import AIPM, Install

from aipm_core.errors import ConfigError
from aipm_core.models import Reply, Request
from aipm_core.runtime import Runtime


class Shell:
    """Runs ``aipm`` in this process, in a directory of its own."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Return what it prints; an error must be one sentence."""
        self._capsys.readouterr()
        ended = main(list(arguments))
        said = self._capsys.readouterr()
        assert ended == code, said.err
        if code == 0:
            return said.out
        assert said.err.count("\n") == 1
        return said.err

    def team(self) -> None:
        self("project", "add", "p", "--dir", "work")
        self("agent", "add", "ann", "--project", "p", "--type", "human")
        self("agent", "add", "bot", "--project", "p")


@pytest.fixture
def aipm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "aipm.toml").write_text('locale = "en"\n', encoding="utf-8")
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    yield Shell(tmp_path, capsys)
    root.setLevel(before[0])
    root.handlers[:] = before[1]


def test_an_agent_may_work_on_several_projects(aipm: Shell) -> None:
    aipm.team()
    aipm("project", "add", "q")
    assert aipm("agent", "assign", "bot", "--project", "q") == "bot now also works on q\n"
    assert "bot" in aipm("agent", "list", "--project", "q")
    assert "nobody" in aipm("agent", "assign", "nobody", "--project", "q", code=3)
    assert "nowhere" in aipm("agent", "assign", "bot", "--project", "nowhere", code=3)
    assert "nowhere" in aipm("agent", "list", "--project", "nowhere", code=3)


def test_a_project_directory_that_cannot_be_made_is_named(aipm: Shell) -> None:
    Path("file").touch()
    said = aipm("project", "add", "p", "--dir", "file/below", code=2)
    assert "file/below cannot be used: Not a directory" in said
    assert "no project yet" in aipm("project", "list")


def test_tokens_are_listed_with_their_state_and_never_again_in_clear(aipm: Shell) -> None:
    aipm.team()
    assert "no token" in aipm("token", "list")
    made = json.loads(aipm("token", "create", "--agent", "ann", "--json"))["data"]
    listed = aipm("token", "list")
    assert ("valid" in listed, made["token"] in listed) == (True, False)
    assert aipm("token", "revoke", made["id"]) == f"revoked {made['id']}\n"
    assert "revoked" in aipm("token", "list")
    assert made["id"] in aipm("token", "revoke", made["id"], code=3)


def test_status_shows_who_is_here_and_what_waits(aipm: Shell) -> None:
    assert "nobody is here yet" in aipm("status")
    aipm.team()
    shown = aipm("status")
    assert "ann (human)" in shown
    begin = ("--title", "Sweep", "--assignee", "bot", "--status", "in_progress")
    aipm("task", "add", "--project", "p", *begin)
    assert "waiting: Sweep" in aipm("status", "--project", "p")


async def call(request: Request, runtime: Runtime) -> Reply:
    return await runtime.call(request)


def row_of(agent: str, shown: str) -> str:
    return next(line for line in shown.splitlines() if line.strip().startswith(agent))


@pytest.mark.parametrize("command", ["task list", "status", "work", "agent list", "inbox"])
def test_a_project_that_does_not_exist_is_not_an_empty_one(aipm: Shell, command: str) -> None:
    aipm.team()
    assert aipm(*command.split(), "--project", "p")
    assert "nope" in aipm(*command.split(), "--project", "nope", code=3)


def test_status_shows_sessions_and_since_when_they_are_silent(aipm: Shell) -> None:
    settings = "locale = 'en'\n[plugins.sessions]\nidle_seconds = 1e6\nhard_seconds = 1e6\n"
    (aipm.root / "aipm.toml").write_text(settings, encoding="utf-8")
    aipm.team()
    made = json.loads(aipm("agent", "add", "worker", "--project", "p", "--json"))["data"]
    login = {"agent_id": "worker", "passkey": made["passkey"], "project_id": "p"}
    begin = ("--title", "Sweep", "--assignee", "worker", "--status", "in_progress")
    aipm("task", "add", "--project", "p", *begin)
    for purpose in ("task", "chat"):
        request = Request(tool="authenticate", arguments={**login, "purpose": purpose})
        with_runtime(None, partial(call, request))
    aipm("notify", "worker", "--project", "p", "--type", "interrupt", "--action", "pause")
    shown = aipm("status")
    assert "chat" in row_of("worker", shown)
    assert row_of("task paused", shown).split()[3:] == ["Sweep"]
    for seconds, age in ((120, "2m"), (7200, "2h")):
        silence(aipm.root, seconds)
        shown = aipm("status")
        assert age in row_of("worker", shown)
        assert ("task stale paused" in shown) is (seconds == 7200)


def silence(root: Path, seconds: float) -> None:
    """Let every session have been silent for so long."""
    with closing(sqlite3.connect(root / ".aipm-data/aipm.db")) as database, database:
        database.execute("update sessions set last_seen = ?", [time.time() - seconds - 1])


def test_a_task_needs_a_title_and_a_long_list_says_so(aipm: Shell) -> None:
    aipm.team()
    assert "needs a title" in aipm("task", "add", "--project", "p", "--title", " ", code=2)
    for number in range(3):
        aipm("task", "add", "--project", "p", "--title", f"Task {number}")
    shown = aipm("task", "list", "--limit", "2")
    assert "… and more: `--limit` shows more than 2" in shown
    assert "and more" not in aipm("task", "list")


def test_messages_are_read_page_by_page(aipm: Shell) -> None:
    aipm.team()
    read = ("messages", "bot", "--project", "p")
    assert aipm(*read) == "no messages\n"
    for number in range(3):
        aipm("say", "bot", "--project", "p", "--as", "ann", f"message {number}")
    first = aipm(*read, "--limit", "2")
    assert "message 1" in first
    place = first.rpartition("more: --after ")[2].strip()
    rest = aipm(*read, "--after", place)
    assert ("message 2" in rest, "message 1" in rest, "more:" in rest) == (True, False, False)


def test_plugins_are_explained_with_and_without_settings(aipm: Shell) -> None:
    facts = json.loads(aipm("plugins", "info", "markers", "--json"))["data"]
    assert facts["name"] == "markers"
    assert "aipm_authorizers" in facts["hooks"]
    shown = aipm("plugins", "info", "markers")
    assert "[plugins.markers] commands = " in shown
    (aipm.root / "aipm.toml").unlink()
    assert "markers" in aipm("plugins", "list")
    (aipm.root / "aipm.toml").write_text("[sevrer]\n", encoding="utf-8")
    assert "did you mean 'server'?" in aipm("plugins", "list", code=2)


def test_doctor_lists_repairs_and_a_taken_port(aipm: Shell) -> None:
    assert "--rebuild-chat" in aipm("doctor", "--repairs")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (aipm.root / "aipm.toml").write_text(f"[server]\nport = {port}\n", encoding="utf-8")
        told = " ".join(aipm("doctor").split())  # in lines as wide as the terminal
        assert f"127.0.0.1:{port} cannot be taken: Address already in use" in told


def test_init_says_where_it_cannot_write(aipm: Shell) -> None:
    Path("file").touch()
    assert "cannot write in file" in aipm("init", "file", code=2)


def test_no_arguments_are_a_call_for_help(aipm: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage: aipm" in capsys.readouterr().out


def test_the_command_of_a_broken_plugin_harms_no_other(
    aipm: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = aipm.root / "site/aipm_bad-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: aipm-bad\nVersion: 1\n", encoding="utf-8")
    text = "[aipm]\nbad = aipm_gone:Bad\n[aipm.commands]\nmoon = aipm_gone.commands:moon\n"
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(aipm.root / "site")
    (aipm.root / "aipm.toml").write_text("[plugins.bad]\n", encoding="utf-8")
    assert "(broken: aipm-bad cannot be imported)" in aipm("--help")
    said = aipm("moon", code=2)
    assert "plugin 'aipm-bad': its command 'moon' cannot be imported: No module named" in said


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BrokenPipeError(), ("nobody reads the output any more", 1)),
        (KeyboardInterrupt(), ("stopped", 130)),
        (ExceptionGroup("x", [ConfigError("no moon")]), ("no moon", 2)),
        (ExceptionGroup("x", [ConfigError("one"), ConfigError("two")]), None),
        (ZeroDivisionError("a bug"), None),
    ],
)
def test_failures_are_foreseen_or_nobody_hides_them(
    error: BaseException, told: tuple[str, int] | None
) -> None:
    assert foreseen(error) == told


@pytest.mark.parametrize("arguments", [["project", "list"], ["mcp", "--config", "aipm.toml"]])
def test_a_bug_is_not_dressed_up_as_a_failure(
    aipm: Shell, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("aipm_cli.settings_file.load", broken)
    with pytest.raises(ZeroDivisionError):
        main(arguments)


def test_stdio_is_served_however_its_option_is_written(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    for arguments in (("--config=aipm.toml",), ("--config", "aipm.toml"), ()):
        done = subprocess.run(
            [AIPM, "mcp", *arguments],
            cwd=tmp_path,
            env=install.env(),
            input=ping,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (json.loads(done.stdout)["id"], done.returncode, done.stderr) == (1, 0, "")


def test_an_address_of_another_machine_cannot_be_listened_on(aipm: Shell) -> None:
    statements = "behind_tls_proxy = true\nallowed_hosts = ['a.example']\n"
    text = f"[server]\nhost = '192.0.2.1'\n{statements}"
    (aipm.root / "aipm.toml").write_text(text, encoding="utf-8")
    environ = Install(aipm.root)
    done = environ.run("up", check=2)
    assert "cannot listen on 192.0.2.1:8137: Cannot assign requested address" in done.stderr


def test_a_backup_that_is_not_there_is_not_restored(aipm: Shell) -> None:
    assert "there is no backup" in aipm("restore", "nowhere.db", code=3)


def test_chat_goes_to_the_server_of_the_settings_or_to_a_real_address(
    aipm: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIPM_UI_TOKEN", "aipm_ui_x")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (aipm.root / "aipm.toml").write_text(f"[server]\nport = {port}\n", encoding="utf-8")
    chat = ("chat", "bot", "--project", "p")
    assert f"127.0.0.1:{port}" in aipm(*chat, code=1)
    for url in ("ftp://x", "127.0.0.1:1", "http://"):
        assert f"--url {url!r} is not an address such as" in aipm(*chat, "--url", url, code=2)


def test_a_project_directory_that_is_taken_is_refused_in_a_sentence(aipm: Shell) -> None:
    aipm.team()
    said = aipm("project", "add", "q", "--dir", "work/sub", code=4)
    assert "work/sub is inside" in said
    assert "the directory of project 'p'; give every project a directory of its own" in said
    assert "a project cannot have /" in aipm("project", "add", "q", "--dir", "/", code=2)
    assert "where this program keeps its data" in aipm(
        *("project", "add", "q", "--dir", ".aipm-data/q"), code=2
    )
    assert not Path("work/sub").exists()
    assert "q" not in aipm("project", "list").split()
