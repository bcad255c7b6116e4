"""For plugins that add commands: shared options, output, and a runtime to work with.

A command module is imported to show ``aipm --help``, so it imports this module and typer at its
top, and everything else inside its functions. It is named by an entry point of the group
``aipm.commands``; the entry point names a function or a ``typer.Typer`` with subcommands.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from aipm_cli.command_runtime import load_settings, with_runtime
from aipm_cli.language import words
from aipm_cli.listing import local_time, matching, short_ids, since, table, table_lines, wrapped
from aipm_cli.people import People, with_people
from aipm_cli.target import check_local, target

if TYPE_CHECKING:
    from rich.console import Console

    from aipm_cli.settings import Settings
    from aipm_core import Migration, ServiceKey
    from aipm_core.host import Runtime

__all__ = [
    "AsJson",
    "Config",
    "People",
    "PluginDir",
    "call_tool",
    "check_local",
    "clean",
    "console",
    "hide_secret",
    "json_line",
    "load_settings",
    "local_time",
    "log_to_stderr",
    "matching",
    "migrations_of",
    "pairs",
    "run_command",
    "say",
    "settings_file",
    "short_ids",
    "show",
    "since",
    "table",
    "table_lines",
    "target",
    "use_plugin_directory",
    "with_people",
    "with_runtime",
    "with_service",
    "words",
    "wrapped",
]
T = TypeVar("T")

Config: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="Settings file [default: aipm.toml here or above].")
]
PluginDir: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plugin-dir", help="Also take the one-file plugins of a directory."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Output for machines.")]


def migrations_of(settings: Settings) -> Mapping[str, Sequence[Migration]]:
    """Return every step of every table that the installed program knows."""
    from aipm_cli import program

    return program.migrations_of(settings)


def run_command(*arguments: str) -> int:
    """Run another command of ``aipm``; return its exit code."""
    from aipm_cli import main

    return main(list(arguments))


def settings_file(config: Path | None) -> Path:
    """Return the settings file a command uses."""
    from aipm_cli.settings_file import find

    return find(config)


def hide_secret(secret: str) -> None:
    """Keep a value out of the log from now on, whatever its variable is called."""
    from aipm_cli import logs

    logs.hide(secret)


def log_to_stderr() -> None:
    """Send the log to stderr, for a command that reads no settings."""
    from aipm_cli import logs

    logs.to_stderr()


def use_plugin_directory(directory: Path | None) -> None:
    """Take the one-file plugins of a directory in, if one is named."""
    if directory is not None:
        from aipm_cli.plugin_directory import use_directory

        use_directory(directory)


def json_line(value: object) -> str:
    """Write JSON that a terminal can show: what it would obey or hide is escaped."""
    from aipm_cli import terminal_text

    return terminal_text.json_line(value)


def with_service(
    config: Path | None,
    key: Callable[[], ServiceKey[T]],
    work: Callable[[T, Runtime], Awaitable[Any]],
) -> Any:  # noqa: ANN401
    """Run ``work`` with one plugin's service; say so if that plugin is off."""

    async def run(runtime: Runtime) -> Any:  # noqa: ANN401
        from aipm_core import ConfigError

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
    sys.stdout.write(json_line({"v": 1, "data": data}) + "\n")


def console(*, stderr: bool = False) -> Console:
    """Return a console that takes no markup from data and keeps colour out of pipes."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, soft_wrap=True, emoji=False)


def say(text: str = "") -> None:
    """Print one line for a person."""
    sys.stdout.write(clean(text) + "\n")


def call_tool(config: Path | None, tool: str, /, **arguments: Any) -> Any:  # noqa: ANN401
    """Call one of people's tools, here or on the chosen server; return its result."""
    return with_people(config, lambda people: people.call(tool, **arguments))


def pairs(values: Mapping[str, object]) -> None:
    """Print names and values, one a line."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        line, text = f"{name:<{width}}  {_cell(value)}", _cell(value)
        # What has no blank is a path or a secret, which somebody copies whole.
        for part in wrapped(line, indent=width + 2) if " " in text else (line,):
            say(part)


def _cell(value: object) -> str:
    return "" if value is None else clean(str(value))


def clean(text: str) -> str:
    """Make text from others harmless for a terminal: no escapes, no reordering, no tricks."""
    from aipm_core import visible

    return visible(text)
