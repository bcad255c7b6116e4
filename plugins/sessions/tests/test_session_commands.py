"""``aipm session`` and ``aipm project pause``, as a person uses them."""

from pathlib import Path

from aipm_devkit.program import Install

from tests.agents import log_in, team

SETTINGS = 'locale = "en"\n[server]\nport = 0\n'


def test_a_person_lists_and_ends_sessions(tmp_path: Path) -> None:
    install = Install.make(tmp_path, SETTINGS)
    passkeys = team(install, "ann")
    with install.up() as server:
        ann = log_in(server.mcp, "ann", passkeys["ann"], "task")
        (row,) = install.json("session", "list")
        assert (row["agent_id"], row["purpose"], row["silent"]) == ("ann", "task", False)
        assert (
            "elsewhere" in install.run("session", "list", "--project", "elsewhere", check=3).stderr
        )
        assert row["id"][:12] in install.run("session", "list").stdout
        assert install.json("session", "end", row["id"][:12]) == {"id": row["id"]}
        assert ann.call("list_tasks")["error"]["code"] == "session_invalid"
        assert "aipm session list" in install.run("session", "end", row["id"], check=3).stderr
        assert "no session is open" in install.run("session", "list").stdout


def test_a_paused_project_says_so_everywhere(tmp_path: Path) -> None:
    install = Install.make(tmp_path, SETTINGS)
    passkeys = team(install, "ann")
    install.run(
        "task", "add", "--project", "p", "--title", "t", "--assignee", "ann", "--status=todo"
    )
    with install.up() as server:
        ann = log_in(server.mcp, "ann", passkeys["ann"], "task")
        assert install.json("project", "pause", "p")["changed"] is True
        assert "already" in install.run("project", "pause", "p").stdout
        assert "paused" in install.run("project", "list").stdout
        assert ann.call("list_tasks")["error"]["code"] == "project_paused"
        assert install.json("work") == []
        assert install.json("project", "resume", "p")["changed"] is True
        assert ann.result("get_next_action", timeout_seconds=5)["action"] == "start_task"
    assert "There is no project x" in install.run("project", "pause", "x", check=3).stderr
