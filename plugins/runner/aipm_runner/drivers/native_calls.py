"""The programs' own tools under one set of names and arguments, so that rules hold for all.

Each function returns the name of ``NATIVE_TOOLS`` and the arguments, in which ``command``, ``path``
and ``url`` mean the same for every program. A tool that nobody knows keeps its own name: no rule
and no default speaks of it, so it is not run.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import TypeAlias

from aipm_core import Json
from aipm_runner.drivers.failures import items, mapping

NativeCall: TypeAlias = tuple[str, dict[str, Json]]
_CLAUDE = {
    **dict.fromkeys(("Bash", "KillShell", "TaskStop"), "Bash"),
    **dict.fromkeys(("Read", "BashOutput", "TaskOutput", "NotebookRead"), "Read"),
    **dict.fromkeys(("Glob", "Grep", "LS", "ToolSearch"), "Search"),
    **dict.fromkeys(("Edit", "MultiEdit", "NotebookEdit"), "Edit"),
    **dict.fromkeys(("Task", "Agent"), "Agent"),
    **dict.fromkeys(("TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"), "Plan"),
    **{name: name for name in ("Write", "WebFetch", "WebSearch")},
}
_KINDS = {
    "execute": "Bash",
    "read": "Read",
    "search": "Search",
    "edit": "Edit",
    "delete": "Delete",
    "move": "Move",
    "fetch": "WebFetch",
    "think": "Plan",
}
_SHELLS = {"bash", "sh", "zsh", "dash"}
_SHELL_WORDS = 3
_PATHS = ("path", "file_path", "notebook_path", "absolute_path", "filePath")


def claude_call(name: str, given: Mapping[str, Json]) -> NativeCall:
    """Read a question of Claude Code."""
    return _CLAUDE.get(name, name), _with_path(given)


def codex_command(given: Mapping[str, Json]) -> NativeCall:
    """Read a question of Codex about a command; the shell around it is left out."""
    told = {"command": bare_command(given.get("command")), "cwd": given.get("cwd")}
    return "Bash", {k: v for k, v in told.items() if v is not None}


def codex_change(item: Mapping[str, Json], reason: Json) -> NativeCall:
    """Read a question of Codex about changes of files."""
    paths = [str(change.get("path")) for change in items(item.get("changes"))]
    kinds = [mapping(change.get("kind")).get("type") for change in items(item.get("changes"))]
    name = "Delete" if kinds and set(kinds) == {"delete"} else "Edit"
    told: dict[str, Json] = {"path": paths[0] if len(paths) == 1 else paths}
    return name, {**told, **({"reason": reason} if isinstance(reason, str) else {})}


def acp_call(call: Mapping[str, Json]) -> NativeCall:
    """Read a question over ACP. Some programs say no more than a title of what they would do."""
    kind, given = call.get("kind"), _with_path(mapping(call.get("rawInput")))
    name = _KINDS.get(str(kind), f"unknown {kind}")
    title = call.get("title")
    if name == "Bash":
        given["command"] = bare_command(given.get("command") or title)
    places = [one["path"] for one in items(call.get("locations")) if "path" in one]
    places += [one["path"] for one in items(call.get("content")) if one.get("type") == "diff"]
    if places and "path" not in given:
        given["path"] = places[0] if len(set(places)) == 1 else sorted(map(str, set(places)))
    return name, {**given, "title": title} if isinstance(title, str) else given


def own_tool(call: Mapping[str, Json]) -> bool:
    """Return whether a question over ACP is about a tool of aipm, by a field no model writes."""
    for meta in mapping(call.get("_meta")).values():
        if str(mapping(meta).get("toolName", "")).startswith("mcp__aipm__"):
            return True
    return False


def bare_command(command: Json) -> Json:
    """Return what a shell is told to run: ``bash -lc 'x y'`` is ``x y``."""
    words = command
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError:
            return command
    if not isinstance(words, list) or len(words) != _SHELL_WORDS:
        return command
    shell, option, script = map(str, words)
    is_shell = PurePath(shell).name in _SHELLS and option in ("-c", "-lc", "-ic")
    return script if is_shell else command


def _with_path(given: Mapping[str, Json]) -> dict[str, Json]:
    path = next((given[name] for name in _PATHS if name in given), None)
    return dict(given) if path is None else {**given, "path": path}
