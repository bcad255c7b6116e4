"""``aipm notify``, as a person at a shell uses it."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from aipm_core.testkit import Install


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    made = Install.make(tmp_path_factory.mktemp("notify"))
    made.run("project", "add", "p")
    made.run("project", "add", "empty")
    made.run("agent", "add", "worker", "--project", "p")
    return made


def stored(install: Install, notification_id: str) -> dict[str, Any]:
    database = sqlite3.connect(install.root / ".aipm-data" / "aipm.db")
    database.row_factory = sqlite3.Row
    sql = "select * from notifications where id = ?"
    row = dict(database.execute(sql, (notification_id,)).fetchone())
    database.close()
    return row


def test_an_interrupt_goes_to_whichever_session_asks_first(install: Install) -> None:
    made = install.json(
        *("notify", "worker", "--project", "p", "--type", "interrupt"),
        *("--action", "cancel", "--message", "止めて"),
    )
    row = stored(install, made["id"])
    assert (row["agent_id"], row["project_id"], row["type"]) == ("worker", "p", "interrupt")
    assert (row["action"], row["message"], row["audience"]) == ("cancel", "止めて", "")
    assert row["read_at"] is None


def test_the_catalogue_has_words_for_every_action(install: Install) -> None:
    for kind, action in (("interrupt", "pause"), ("interrupt", "blocked"), ("message", "resume")):
        made = install.json(
            "notify", "worker", "--project", "p", "--type", kind, "--action", action
        )
        row = stored(install, made["id"])
        assert row["message"]
        assert row["audience"] == ""


def test_a_message_goes_to_whoever_asks_unless_told(install: Install) -> None:
    say = ("notify", "worker", "--project", "p", "--type", "message", "--message", "hi")
    assert stored(install, install.json(*say)["id"])["audience"] == ""
    made = install.json(*say, "--audience", "chat")
    assert stored(install, made["id"])["audience"] == "chat"


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
        ("worker --project p --type message --message x --audience all", 2),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(install: Install, arguments: str, code: int) -> None:
    done = install.run("notify", *arguments.split(), check=code)
    assert done.stdout == ""
    assert done.stderr.startswith("aipm: ")
    assert done.stderr.count("\n") == 1


def test_switched_off_says_so(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "[plugins.notifications]\nenabled = false\n")
    done = install.run(
        "notify", "a", "--project", "p", "--type", "message", "--message", "x", check=2
    )
    assert "notifications" in done.stderr


def test_settings_are_checked(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "[plugins.notifications]\nttl_hour = 3\n")
    assert "ttl_hours" in install.run("project", "list", check=2).stderr
