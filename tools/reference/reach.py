"""Which codes a tool can answer with: the refusals its function can reach.

Calls are followed by name inside the plugin, and into another plugin only through what its ``api``
module promises. Where two functions share a name the answer may hold a code too many.
"""

from __future__ import annotations

import ast
from functools import cache

from aipm_core import AnyTool, Trait
from aipm_core.pipeline.registered import Registered
from tools.reference.refusals import REPOSITORY, Routine, routines

_SERVING = ("aipm_file_chat", "aipm_notifications")  # their services refuse agents of other plugins
_FOR_PEOPLE = (
    "aipm_file_chat/people.py",
    "aipm_file_chat/people_tools.py",
    "aipm_file_chat/routes.py",
    "aipm_notifications/people_tools.py",
    "aipm_notifications/sender.py",
    "aipm_tasks/service.py",
    "aipm_tasks/overview.py",
    "aipm_tasks/tools/people.py",
)
_MARKED = {
    "request_task": "task_request_marker_required",
    "notify_task_session": "task_notify_marker_required",
    "update_task_from_chat": "task_adjust_marker_required",
}


def codes_of(found: Registered) -> set[str]:
    """Return the codes one tool may refuse with."""
    package = f"aipm_{found.plugin}"
    run = getattr(found.tool.run, "__name__", found.tool.name)
    file = found.tool.run.__module__.replace(".", "/") + ".py"
    reached = _reached(package, file, run, found.tool.audience == "ui")
    codes = {seen.code for routine in reached for seen in routine.refusals}
    codes |= _separation(found.tool)
    if found.tool.audience != "ui" and found.tool.name in _MARKED:
        codes |= {_MARKED[found.tool.name], "marker_already_used"}
    return codes - {"invalid_arguments", "internal_error"}


def _reached(package: str, file: str, run: str, people: bool) -> set[Routine]:
    start = [r for r in routines() if r.file == file and r.name == run]
    if not start:
        raise SystemExit(f"{file}: there is no function {run}")
    todo, done = start, set(start)
    while todo:
        routine = todo.pop()
        found = {
            r
            for call in routine.calls
            for r in _meant(routine.package, routine.file, *call, people)
        } - done
        done |= found
        todo += found
    return done


@cache
def _meant(package: str, file: str, own: bool, name: str, people: bool) -> tuple[Routine, ...]:
    """Find what a call may mean: in the same file, in the plugin, or behind an api."""
    every = [r for r in routines() if r.name == name and (people or r.file not in _FOR_PEOPLE)]
    here = [r for r in every if r.file == file]
    beside = [r for r in every if r.package == package and r.file != file]
    abroad = [r for r in every if r.package in _SERVING and name in _promised(r.package)]
    for near in (here, beside) if own else (beside, here, abroad):
        if near:
            return tuple(near)
    return ()


@cache
def _promised(package: str) -> frozenset[str]:
    """Return the names of the functions in a plugin's api."""
    home = REPOSITORY / "plugins" / package.removeprefix("aipm_") / package
    files = [home / "api.py", *(home / "api").glob("*.py")]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files if file.is_file()]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, kinds)
    )


def _separation(tool: AnyTool) -> set[str]:
    return {"chat_session_required"} if Trait.TALKS in tool.traits else set()
