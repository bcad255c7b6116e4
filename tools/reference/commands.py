"""docs/reference/commands.md: the command line, as it describes itself."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from aipm_cli.root import app
from typer.main import get_command

from tools.reference.markdown import code, page, plain, table

INTRODUCTION = """\
Options stand after the command; `--` ends them. With `--json` a command answers for machines,
`{"v": 1, "data": …}`; with `--config PATH` it uses other [settings](settings.md).

| exit code | means |
|---|---|
| 0 | done |
| 1 | failed, as when the port is taken |
| 2 | usage or settings |
| 3 | not found |
| 4 | refused: already answered, not allowed |

An error is one sentence on stderr.
"""
_SHARED = {"--help", "--json", "--config", "--install-completion", "--show-completion"}


def write() -> str:
    """Return the page as it should be."""
    root: Any = get_command(app)
    context = root.make_context("aipm", ["--help"], resilient_parsing=True)
    sections = [
        "\n\n".join(_sections(f"aipm {name}", root.get_command(context, name)))
        for name in root.list_commands(context)
    ]
    return page("Command line", INTRODUCTION, *sections)


def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield a command and those below it, with their full names."""
    yield name, command
    for inner, below in sorted(getattr(command, "commands", {}).items()):
        yield from walk(f"{name} {inner}", below)


def _sections(name: str, command: Any) -> Iterator[str]:  # noqa: ANN401
    for full, one in walk(name, command):
        group = bool(getattr(one, "commands", None))
        yield f"{'##' if full == name else '###'} {full}\n{_about(one)}"
        if not group or one.invoke_without_command:
            yield f"```text\n{_usage(full, one, group=group)}\n```"
        rows = list(_rows(one))
        if rows and not group:
            yield table(("", "", "default"), rows)


def _about(command: Any) -> str:  # noqa: ANN401
    return plain(command.help)


def _usage(name: str, command: Any, *, group: bool) -> str:  # noqa: ANN401
    parts = [name]
    options = [p for p in command.params if p.param_type_name == "option"]
    parts += [f"{p.opts[0]} {_metavar(p)}".strip() for p in options if p.required]
    if any(not p.required and p.opts[0] not in _SHARED for p in options):
        parts.append("[OPTIONS]")
    for p in command.params:
        if p.param_type_name == "argument":
            parts.append(_argument(p) if p.required else f"[{_argument(p)}]")
    return " ".join(parts + (["[COMMAND]"] if group else []))


def _argument(param: Any) -> str:  # noqa: ANN401
    return f"{param.name.upper()}{'…' if param.nargs == -1 else ''}"


def _rows(command: Any) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401
    for param in command.params:
        if param.param_type_name == "argument":
            if param.help:
                yield code(_argument(param)), param.help, _default(param)
            continue
        if param.opts[0] in _SHARED or param.hidden:
            continue
        names = ", ".join(code(name) for name in (*param.opts, *param.secondary_opts))
        yield f"{names} {_metavar(param)}".strip(), _meaning(param), _default(param)


def _metavar(param: Any) -> str:  # noqa: ANN401
    if param.is_flag or param.count:
        return ""
    kind = param.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(choice.value) for choice in kind)
    return str(param.metavar or param.name).upper()


def _meaning(param: Any) -> str:  # noqa: ANN401
    return plain(param.help) or ("required" if param.required else "")


def _default(param: Any) -> str:  # noqa: ANN401
    value = getattr(param.default, "value", param.default)
    silent = param.required or value in (None, False, "") or getattr(param, "count", False)
    return "" if silent else code(value)
