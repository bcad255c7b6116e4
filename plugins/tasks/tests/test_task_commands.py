"""``aipm task``, ``aipm inbox``, ``aipm approve`` and ``aipm deny``.

In this process, because there are many; ``test_task_end_to_end`` runs the installed program.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from aipm_cli import main

SHAPE = [
    *("id", "project_id", "title", "description", "status", "priority", "assignee_id"),
    *("requester_id", "parent_task_id", "approval_status", "created_at", "updated_at"),
]


class Shell:
    """Runs commands and looks at what they print."""

    def __init__(self, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capfd = capfd

    def run(self, *command: str) -> tuple[int, str, str]:
        code = main([*command, "--config", str(self.root / "aipm.toml")])
        out, err = self._capfd.readouterr()
        return code, out, err

    def json(self, *command: str) -> Any:
        code, out, err = self.run(*command, "--json")
        assert code == 0, err
        return json.loads(out)["data"]

    def add(self, *more: str) -> Any:
        return self.json("task", "add", "--project", "p", "--title", "t", *more)

    def request(self) -> str:
        """Leave a request as ``request_task`` does: no command makes one."""
        task = str(self.add("--assignee", "worker")["id"])
        database = sqlite3.connect(self.root / ".aipm-data" / "aipm.db")
        with database:
            sql = "update tasks set approval_status = 'pending_approval' where id = ?"
            database.execute(sql, (task,))
        database.close()
        return task


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tasks")
    settings = root / "aipm.toml"
    settings.write_text('locale = "en"\n', encoding="utf-8")
    for command in (
        "project add p",
        "project add q",
        "agent add worker --project p",
        "agent add other --project q",
        "agent add alice --project p --type human",
    ):
        assert main([*command.split(), "--config", str(settings)]) == 0
    return root


@pytest.fixture
def shell(place: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    capfd.readouterr()
    return Shell(place, capfd)


def test_a_task_from_the_shell(shell: Shell) -> None:
    made = shell.add()
    assert list(made) == SHAPE
    assert (made["status"], made["priority"]) == ("backlog", "medium")
    assert (made["assignee_id"], made["approval_status"]) == (None, "approved")
    assert shell.json("task", "show", made["id"]) == made
    child = shell.add(
        *("--parent", made["id"], "--assignee", "worker", "--priority", "urgent"),
        *("--description", "d", "--status", "todo"),
    )
    assert (child["parent_task_id"], child["assignee_id"]) == (made["id"], "worker")
    assert (child["priority"], child["status"]) == ("urgent", "todo")
    listed = shell.json("task", "list", "--assignee", "worker", "--status", "todo")
    assert child in listed
    assert made not in listed
    assert made["id"][:12] in shell.run("task", "list")[1]


def test_moving_a_task(shell: Shell) -> None:
    task = shell.add()["id"]
    assert shell.json("task", "status", task, "in_progress")["status"] == "in_progress"
    assert shell.json("task", "status", task, "done")["status"] == "done"
    code, _, err = shell.run("task", "status", task, "todo")
    assert code == 4
    assert "done" in err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("task add --project p", 2),
        ("task add --project p --title x --priority asap", 2),
        ("task add --project p --title x --status started", 2),
        ("task add --project none --title x", 3),
        ("task add --project p --title x --assignee nobody", 3),
        ("task add --project p --title x --assignee other", 4),
        ("task add --project p --title x --parent tsk_none", 3),
        ("task add --project p --title x --depends-on tsk_none", 3),
        ("task show tsk_none", 3),
        ("task history tsk_none", 3),
        ("task status tsk_none todo", 3),
        ("task status tsk_none finished", 2),
        ("approve tsk_none", 3),
        ("deny tsk_none", 3),
        ("approve tsk_none --as nobody", 3),
        ("approve tsk_none --as worker", 4),
        ("status --watch --json", 2),
        ("status --project none", 3),
    ],
)
def test_what_is_wrong_is_one_sentence(shell: Shell, command: str, code: int) -> None:
    ended, out, err = shell.run(*command.split())
    assert ended == code
    assert out == ""
    assert err.startswith("aipm: ")
    assert err.count("\n") == 1


def test_a_person_empties_the_inbox(shell: Shell) -> None:
    yes, no = shell.request(), shell.request()
    waiting = shell.json("inbox")
    assert [(row["id"], row["kind"]) for row in waiting] == [
        (yes, "task_request"),
        (no, "task_request"),
    ]
    assert f"aipm approve {yes[:12]}" in shell.run("inbox")[1]
    assert shell.json("inbox", "--project", "q") == []
    assert shell.json("approve", yes)["approved"] is True
    assert shell.json("deny", no, "--as", "alice", "--reason", "no")["approved"] is False
    assert shell.json("inbox") == []
    assert shell.json("task", "show", yes)["approval_status"] == "approved"
    denied = shell.json("task", "show", no)
    assert (denied["approval_status"], denied["status"]) == ("rejected", "cancelled")
    assert [h["actor_id"] for h in shell.json("task", "history", no)][1:] == ["alice", "alice"]
    for command in ("approve", "deny"):
        assert shell.run(command, yes)[0] == 4


def test_nothing_reaches_a_terminal_unfiltered(shell: Shell) -> None:
    made = shell.json("task", "add", "--project", "p", "--title", "a\x1b[31mred\u202e")
    for command in (("task", "list"), ("task", "show", made["id"])):
        shown = shell.run(*command)[1]
        assert "red" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_switched_off_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "aipm.toml").write_text("[plugins.tasks]\nenabled = false\n", encoding="utf-8")
    off = Shell(tmp_path, capfd)
    for command in ("task list", "status"):
        code, _, err = off.run(*command.split())
        assert code == 2
        assert "tasks" in err
