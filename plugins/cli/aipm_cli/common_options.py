"""Options that every command has: where it works and in whose name, before or behind its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from aipm_cli.target import keep

_WITH_VALUE = ("--config", "--server", "--as")
_FLAGS = ("--json",)


def _common(
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="URL", help="Work on this server [AIPM_SERVER_URL]."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option("--as", metavar="PERSON", help="In this person's name [AIPM_AS]."),
    ] = None,
) -> None:
    """Hold the options; it is never run."""


def add_common_options(command: Any) -> None:  # noqa: ANN401
    """Give a command, and those below it, the options that all have, unless it has its own."""
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            add_common_options(below)
        if not command.invoke_without_command:
            return
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(_common)
    taken = {name for parameter in command.params for name in parameter.opts}
    for option in get_command(app).params:
        if option.name in ("server", "person") and not taken & set(option.opts):
            option.expose_value = False
            option.callback = keep
            command.params.append(option)


def moved_behind(words: Sequence[str]) -> list[str]:
    """Put options that every command has behind the command they were written before.

    Those between a group and its command are moved too; `--` ends options, as it does everywhere.
    """
    rest, common = list(words), list[str]()
    kept: list[str] = []
    while rest:
        word = rest[0]
        name = word.partition("=")[0]
        if word in _FLAGS or (name in _WITH_VALUE and "=" in word):
            common.append(rest.pop(0))
        elif word in _WITH_VALUE and len(rest) > 1:
            common += [rest.pop(0), rest.pop(0)]
        elif not kept and not word.startswith("-"):
            kept.append(rest.pop(0))
        else:
            break
    if not common or not kept:
        return [*kept, *common, *rest]
    end = rest.index("--") if "--" in rest else len(rest)
    return [*kept, *rest[:end], *common, *rest[end:]]
