"""``aipm notify``: in this process, because there are many ways to get it wrong."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from aipm_cli import main
from aipm_devkit.program import Install

Shell: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = tmp_path_factory.mktemp("notify") / "aipm.toml"
    settings.touch()
    for command in ("project add p", "project add empty", "agent add worker --project p"):
        assert main([*command.split(), "--config", str(settings)]) == 0
    return settings.parent


@pytest.fixture
def notify(place: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    capfd.readouterr()

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["notify", *arguments, "--config", str(place / "aipm.toml")])
        return (code, *capfd.readouterr())

    return run


def stored(place: Path, out: str) -> dict[str, Any]:
    database = sqlite3.connect(place / ".aipm-data" / "aipm.db")
    database.row_factory = sqlite3.Row
    wanted = (json.loads(out)["data"]["id"],)
    row = dict(database.execute("select * from notifications where id = ?", wanted).fetchone())
    database.close()
    return row


def test_an_interrupt_from_an_installed_program(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    install.run("agent", "add", "worker", "--project", "p")
    done = install.run(
        *("notify", "worker", "--project", "p", "--type", "interrupt"),
        *("--action", "cancel", "--message", "止めて", "--json"),
    )
    row = stored(tmp_path, done.stdout)
    assert (row["agent_id"], row["project_id"], row["type"]) == ("worker", "p", "interrupt")
    assert (row["action"], row["message"], row["audience"]) == ("cancel", "止めて", "")
    assert row["read_at"] is None


@pytest.mark.parametrize(
    ("kind", "action"), [("interrupt", "pause"), ("interrupt", "blocked"), ("message", "resume")]
)
def test_the_catalogue_has_words_for_every_action(
    notify: Shell, place: Path, kind: str, action: str
) -> None:
    _, out, _ = notify("worker", "--project", "p", "--type", kind, "--action", action, "--json")
    row = stored(place, out)
    assert row["message"]
    assert (row["type"], row["action"], row["audience"]) == (kind, action, "")


def test_an_audience_narrows_it(notify: Shell, place: Path) -> None:
    say = ("worker", "--project", "p", "--type", "message", "--message", "hi", "--json")
    assert stored(place, notify(*say)[1])["audience"] == ""
    assert stored(place, notify(*say, "--audience", "chat")[1])["audience"] == "chat"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("nobody --project p --type message --message x", 3),
        ("worker --project nowhere --type message --message x", 3),
        ("worker --project empty --type message --message x", 3),
        ("worker --project p --type shout --message x", 2),
        ("worker --project p --type interrupt --message x", 2),
        ("worker --project p --type interrupt --action resume", 2),
        ("worker --project p --type message --action cancel", 2),
        ("worker --project p --type message", 2),
        ("worker --type message --message x", 2),
        (f"worker --project p --type message --message {'x' * 5000}", 2),
        ("worker --project p --type message --message x --audience all", 2),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(notify: Shell, arguments: str, code: int) -> None:
    ended, out, err = notify(*arguments.split())
    assert ended == code
    assert out == ""
    assert err.startswith("aipm: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("settings", "command", "named"),
    [
        ("enabled = false", "notify a --project p --type message --message x", "notifications"),
        ("ttl_hour = 3", "project list", "ttl_hours"),
        ("ttl_hours = 0", "project list", "ttl_hours"),
    ],
)
def test_settings_are_checked(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    settings: str,
    command: str,
    named: str,
) -> None:
    file = tmp_path / "aipm.toml"
    file.write_text(f"[plugins.notifications]\n{settings}\n", encoding="utf-8")
    assert main([*command.split(), "--config", str(file)]) == 2
    assert named in capfd.readouterr().err
