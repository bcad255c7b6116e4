"""For plugins that add commands: shared options, output, and a runtime to work with.

A command module is imported to show ``aipm --help``, so it imports this module and typer at its
top, and everything else inside its functions. It is named by an entry point of the group
``aipm.commands``; the entry point names a function or a ``typer.Typer`` with subcommands.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from aipm_core.opening import with_runtime

if TYPE_CHECKING:
    from rich.console import Console

    from aipm_core.runtime import Runtime
    from aipm_core.services import ServiceKey

__all__ = [
    "AsJson",
    "Config",
    "clean",
    "console",
    "pairs",
    "say",
    "show",
    "table",
    "with_runtime",
    "with_service",
]
T = TypeVar("T")

Config: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="Settings file [default: ./aipm.toml].")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Output for machines.")]


def with_service(
    config: Path | None,
    key: Callable[[], ServiceKey[T]],
    work: Callable[[T, Runtime], Awaitable[Any]],
) -> Any:  # noqa: ANN401
    """Run ``work`` with one plugin's service; say so if that plugin is off."""

    async def run(runtime: Runtime) -> Any:  # noqa: ANN401
        from aipm_core.errors import ConfigError

        wanted = key()
        service = runtime.services.find(wanted)
        if service is None:
            plugin = wanted.name.partition(".")[0]
            raise ConfigError(f"this command needs the plugin {plugin!r}, which is switched off")
        return await work(service, runtime)

    return with_runtime(config, run)


def show(data: object, *, as_json: bool, human: Callable[[], None]) -> None:
    """Print ``data`` for machines as ``{"v": 1, "data": …}``, or let ``human`` print it."""
    if not as_json:
        human()
        return
    from aipm_core.display import json_line

    sys.stdout.write(json_line({"v": 1, "data": data}) + "\n")


def console(*, stderr: bool = False) -> Console:
    """Return a console that takes no markup from data and keeps colour out of pipes."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, soft_wrap=True, emoji=False)


def say(text: str = "") -> None:
    """Print one line for a person."""
    sys.stdout.write(clean(text) + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Print a table for a person, or one line that says how to get something into it."""
    from rich import box
    from rich.table import Table

    lines = [[_cell(value) for value in row] for row in rows]
    # The first column names the thing: a name that is cut off cannot be typed again.
    width = max((len(line[0]) for line in lines), default=0)
    made = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False)
    for place, column in enumerate(columns):
        made.add_column(column, overflow="fold", min_width=width if place == 0 else None)
    for line in lines:
        made.add_row(*line)
    if made.row_count:
        console().print(made)
    else:
        say(empty)


def pairs(values: Mapping[str, object]) -> None:
    """Print names and values, one a line."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        say(f"{name:<{width}}  {_cell(value)}")


def _cell(value: object) -> str:
    return "" if value is None else clean(str(value))


def clean(text: str) -> str:
    """Make text from others harmless for a terminal: no escapes, no reordering, no tricks."""
    from aipm_core.display import harmless

    return harmless(text)
