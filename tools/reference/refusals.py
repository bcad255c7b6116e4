"""Finds every refusal in the source: its code, its status, its text, and the function it is in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
NAMED = {
    "AuthenticationRequired": ("authentication_required", 401),
    "SessionInvalid": ("session_invalid", 401),
    "ToolNotFound": ("tool_not_found", 404),
    "InvalidArguments": ("invalid_arguments", 400),
}
# Where a code is not written out in the source. What is passed on from elsewhere has none.
COMPUTED: dict[tuple[str, str], tuple[str, ...]] = {
    ("aipm_core/pipeline/access.py", "code"): (
        "task_session_required",
        "chat_session_required",
        "manager_required",
    ),
    ("aipm_core/plugin.py", "code"): (),
    ("aipm_cli/people.py", "code"): (),
    ("aipm_cli/listing.py", "f'{what}_not_found'"): (
        "token_not_found",
        "session_not_found",
        "item_not_found",
        "decision_not_found",
    ),
    ("aipm_cli/listing.py", "f'{what}_ambiguous'"): (
        "token_ambiguous",
        "session_ambiguous",
        "item_ambiguous",
        "decision_ambiguous",
    ),
    ("aipm_core/pipeline/arguments.py", "code"): (),
    ("aipm_core/pipeline/call.py", "broken.code"): ("internal_error", "store_unavailable"),
    ("aipm_agent_loop/runs.py", "f'call_{code}'"): (
        "call_interrupted",
        "call_cancelled",
        "call_failed",
    ),
    ("aipm_markers/guard.py", "_CODES[tool]"): (
        "task_request_marker_required",
        "task_notify_marker_required",
        "task_adjust_marker_required",
    ),
    ("aipm_notifications/sender.py", "f'{what}_not_found'"): (
        "project_not_found",
        "agent_not_found",
    ),
    ("aipm_policy/authorizer.py", "code"): ("confirmation_denied", "confirmation_expired"),
    ("aipm_policy/authorizer.py", "refusal.code"): (),
    ("aipm_runner/commands.py", "error.code"): (),
    ("aipm_runner/start_orders.py", "code"): ("already_attended", "nothing_to_start"),
    ("aipm_sessions/directory.py", "f'{what}_not_found'"): (
        "project_not_found",
        "agent_not_found",
        "token_not_found",
        "person_not_found",
    ),
    ("aipm_file_chat/routes.py", "failure.code"): (),
    ("aipm_ui_gateway/ui_commands/dispatch.py", "error.code"): (),
    ("aipm_ui_gateway/ag_ui/runs.py", "code"): (),
    ("aipm_ui_gateway/client/ui_client.py", "reply['code']"): (),
}


@dataclass(frozen=True)
class Refusal:
    """One place that refuses."""

    package: str
    file: str
    function: str
    code: str
    status: int
    text: str
    """What is said, or the key of a catalogue (``errors.…``)."""


@dataclass(frozen=True)
class Routine:
    """A function: what it refuses, and the names of what it calls."""

    package: str
    file: str
    name: str
    refusals: tuple[Refusal, ...]
    calls: frozenset[tuple[bool, str]]


@cache
def routines() -> tuple[Routine, ...]:
    """Read every function of the core and of our plugins."""
    places = [REPOSITORY / "aipm_core", *sorted((REPOSITORY / "plugins").glob("*/aipm_*"))]
    return tuple(
        routine
        for place in places
        for file in sorted(place.rglob("*.py"))
        if file.stem not in ("testing", "testkit", "errors")
        for routine in _read(file, place)
    )


def refusals() -> list[Refusal]:
    """Return every refusal."""
    return [seen for routine in routines() for seen in routine.refusals]


def _read(file: Path, place: Path) -> Iterator[Routine]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    name = f"{place.name}/{file.relative_to(place).as_posix()}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found = tuple(_refusals_in(node, place.name, name))
            calls = frozenset(_calls(node))
            yield Routine(place.name, name, node.name, found, calls)


def _calls(function: ast.AST) -> Iterator[tuple[bool, str]]:
    """Name what a function calls or hands on to be called, and whether it is of its own file.

    What the core lends a plugin refuses nothing and is left out.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            for used in (node.func, *node.args):
                match used:
                    case ast.Attribute(value=owner, attr=name) if not _lent(owner):
                        yield ast.unparse(owner) == "self", name
                    case ast.Name(id=name):
                        yield True, name


def _lent(owner: ast.expr) -> bool:
    return ast.unparse(owner).rpartition(".")[2] in {"tx", "db", "store", "events", "_ctx", "ctx"}


def _refusals_in(function: ast.AST, package: str, file: str) -> Iterator[Refusal]:
    texts = {
        target.id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        found = _refusal(node)
        if found is None:
            continue
        code, status, text = found
        codes = _codes(file, code)
        for known in codes:
            key = f"errors.{known}" if text is None else _said(text, texts)
            if any(key.startswith(f"errors.{other}") for other in codes if other != known):
                continue  # one text for several codes names the one it is for
            yield Refusal(package, file, getattr(function, "name", ""), known, status, key)


def _refusal(node: ast.AST) -> tuple[ast.expr, int, ast.expr | None] | None:
    """Return code, status and text of a refusal; no text means that of the catalogue."""
    match node:
        case ast.Call(func=ast.Attribute(attr="refuse") | ast.Name(id="refuse"), args=args):
            code, status, *_ = _flat(args)
            return code, _number(status), None
        case ast.Call(func=ast.Name(id="answer"), args=[_, ast.Constant() as status, code, text]):
            return code, _number(status), text
        case ast.Return(
            value=ast.Tuple(
                elts=[ast.Constant(value=int()) as status, ast.Constant() as code, text]
            )
        ):
            return code, _number(status), text
        case ast.Call(func=ast.Name(id=name), args=[text, *_]) if name in NAMED:
            return ast.Constant(NAMED[name][0]), NAMED[name][1], text
        case ast.Dict(
            keys=[ast.Constant(value="code"), *_], values=[code, ast.Constant() as status, _]
        ):
            return code, _number(status), None
    return _spelled(node)


def _spelled(node: ast.AST) -> tuple[ast.expr, int, ast.expr | None] | None:
    """Read ``CallError(text, code=…, status=…)`` and what is built on it."""
    match node:
        case ast.Call(func=ast.Name(id="refused_argument"), args=[ast.Constant() as code, text]):
            return code, 400, text
        case (
            ast.Call(func=ast.Name(id="CallError" | "PermissionDenied"))
            | ast.Call(func=ast.Attribute(attr="__init__"))
        ):
            given = {word.arg: word.value for word in node.keywords}
            if "code" in given:
                status = given.get("status", ast.Constant(403))
                return given["code"], _number(status), node.args[0]
    return None


def _flat(args: list[ast.expr]) -> list[ast.expr]:
    """Unfold ``*(a, b)``."""
    flat: list[ast.expr] = []
    for arg in args:
        inner = arg.value if isinstance(arg, ast.Starred) else None
        flat += inner.elts if isinstance(inner, ast.Tuple) else [arg]
    return flat


def _number(node: ast.expr) -> int:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else 0


def _codes(file: str, code: ast.expr) -> tuple[str, ...]:
    if isinstance(code, ast.Constant):
        return (str(code.value),)
    place = (file, ast.unparse(code))
    if place not in COMPUTED:
        raise SystemExit(f"{file}: name the codes of {place[1]} in tools/reference/refusals.py")
    return COMPUTED[place]


def _said(text: ast.expr, assigned: dict[str, ast.expr]) -> str:
    if isinstance(text, ast.Name) and text.id in assigned:
        text = assigned[text.id]
    match text:
        case ast.Constant(value=str(said)):
            return said
        case ast.JoinedStr(values=values):
            return "".join(_part(value) for value in values)
        case ast.Call(args=[ast.Constant(value=str(key)), *_]) if key.startswith("errors."):
            return key
    return ""


def _part(value: ast.expr) -> str:
    if isinstance(value, ast.FormattedValue):
        name = ast.unparse(value.value).rpartition(".")[2]
        return "{" + name.rpartition("['")[2].removesuffix("']") + "}"
    return str(value.value) if isinstance(value, ast.Constant) else ""
