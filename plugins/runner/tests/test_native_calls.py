"""What programs ask, under the names and arguments that rules speak of."""

from pathlib import Path
from typing import Any

import pytest
from aipm_runner.drivers.native_calls import (
    acp_call,
    bare_command,
    claude_call,
    codex_change,
    codex_command,
    own_tool,
)
from aipm_runner.homes import Homes


@pytest.mark.parametrize(
    ("told", "command"),
    [
        ("/bin/bash -lc 'git push origin'", "git push origin"),
        (["/usr/bin/zsh", "-c", "rm x"], "rm x"),
        ("bash -lc", "bash -lc"),
        ("python -c 'x'", "python -c 'x'"),
        ("echo 'open quote", "echo 'open quote"),
        ("git push", "git push"),
        (None, None),
    ],
)
def test_the_shell_around_a_command_is_left_out(told: Any, command: Any) -> None:
    assert bare_command(told) == command


def test_a_path_means_the_same_for_every_program() -> None:
    diff = {"type": "diff", "path": "/w/a"}
    change = {"changes": [{"path": "/w/a", "kind": {"type": "update"}}]}
    asked = (
        claude_call("Edit", {"file_path": "/w/a"}),
        claude_call("NotebookEdit", {"notebook_path": "/w/a"}),
        codex_change(change, None),
        acp_call({"kind": "edit", "content": [diff], "locations": [{"path": "/w/a"}]}),
        acp_call({"kind": "edit", "rawInput": {"filePath": "/w/a"}}),
    )
    assert {(name, arguments["path"]) for name, arguments in asked} == {("Edit", "/w/a")}
    both = codex_change({"changes": [{"path": "a"}, {"path": "b"}]}, "why")
    assert both == ("Edit", {"path": ["a", "b"], "reason": "why"})
    gone = {"changes": [{"path": "a", "kind": {"type": "delete"}}]}
    assert codex_change(gone, None)[0] == "Delete"


def test_a_command_means_the_same_for_every_program() -> None:
    asked = (
        claude_call("Bash", {"command": "rm x"}),
        codex_command({"command": "/bin/bash -lc 'rm x'"}),
        acp_call({"kind": "execute", "title": "rm x"}),
        acp_call({"kind": "execute", "title": "tidy up", "rawInput": {"command": "rm x"}}),
    )
    assert {(name, arguments["command"]) for name, arguments in asked} == {("Bash", "rm x")}


def test_a_tool_that_nobody_knows_keeps_its_own_name() -> None:
    assert claude_call("Teleport", {})[0] == "Teleport"
    assert acp_call({"kind": "other", "title": "aipm get_next_action"})[0] == "unknown other"
    assert acp_call({})[0] == "unknown None"


def test_a_title_makes_no_tool_ours() -> None:
    assert not own_tool({"title": "mcp__aipm__get_my_task", "rawInput": {"toolName": "x"}})
    assert own_tool({"_meta": {"claudeCode": {"toolName": "mcp__aipm__get_my_task"}}})
    assert not own_tool({"_meta": {"claudeCode": {"toolName": "Bash"}}})


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "."])
def test_a_home_takes_no_file_outside_of_it(tmp_path: Path, name: str) -> None:
    homes = Homes(tmp_path)
    home = homes.make("run_1")
    with pytest.raises(ValueError, match="outside"):
        homes.fill(home, {name: "x"})
    homes.fill(home, {"a/b": "x"})
    assert (home / "a" / "b").stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    homes.remove("run_1")
    assert homes.names() == set()
