"""The root of the command line: finds commands by entry point and turns errors into exit codes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer._click.exceptions import ClickException  # typer exports only its subclasses
from typer.core import TyperGroup
from typer.main import get_command

from aipm_cli.command_points import GROUP, chosen, commands_of
from aipm_cli.common_options import add_common_options, moved_behind
from aipm_cli.entry_points import Point
from aipm_cli.failures import fail, foreseen
from aipm_cli.named_plugins import config_of

__all__ = ["GROUP", "app", "run"]


class Root(TyperGroup):
    """Every command of aipm and of every plugin that is on, each imported when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """List command names."""
        return sorted(commands_of(_config(ctx)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List what there is; building every command for its first line takes as long again."""
        rows = [(name, _summary(points[0])) for name, points in commands_of(_config(ctx)).items()]
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401
        """Import one command."""
        points = commands_of(_config(ctx)).get(cmd_name)
        return _command(chosen(points)) if points else None


def _config(ctx: Any) -> Path | None:  # noqa: ANN401
    """Return the settings file of the command line; whoever only lists commands has none."""
    return getattr(ctx, "obj", None)


def _command(point: Point) -> Any:  # noqa: ANN401
    loaded = _loaded(point)
    if not isinstance(loaded, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name=point.name)(loaded)
        loaded = app
    command = get_command(loaded)
    command.name = point.name
    add_common_options(command)
    return command


def _summary(point: Point) -> str:
    """Return the first line of a command's help."""
    loaded = _loaded(point)
    if isinstance(loaded, typer.Typer):
        callbacks = [command.callback for command in loaded.registered_commands]
        text = loaded.info.help or (callbacks[0].__doc__ if callbacks and callbacks[0] else "")
    else:
        text = loaded.__doc__
    return str(text or "").strip().partition("\n")[0]


def _loaded(point: Point) -> Any:  # noqa: ANN401
    try:
        return point.entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - one must not take the others along
        return _broken(point, error)


def _broken(point: Point, error: BaseException) -> Callable[[], None]:
    owner = point.distribution

    def broken() -> None:
        from aipm_core import PluginError

        raise PluginError(owner, f"its command {point.name!r} cannot be imported: {error}")

    broken.__doc__ = f"(broken: {owner} cannot be imported)"
    return broken


app = typer.Typer(
    cls=Root,
    name="aipm",
    help="Coding agents working as a team, people in charge.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"aipm {version('aipm-runtime')}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Coding agents working as a team, people in charge."""


def run(argv: list[str] | None) -> int:
    """Run the command line; every foreseen failure is one sentence on stderr."""
    words = sys.argv[1:] if argv is None else argv
    for place, word in enumerate(words, 1):
        if not _is_text(word):
            return fail(f"word {place} of the command is not text in UTF-8", 2)
    try:
        given = moved_behind(words)
        result = get_command(app).main(
            args=given, prog_name="aipm", standalone_mode=False, obj=config_of(given)
        )
    except ClickException as error:
        return _usage(error)
    except typer.Exit as exit_:
        return int(exit_.exit_code)
    except (Exception, KeyboardInterrupt) as error:
        failure = foreseen(error)
        if failure is None:
            raise
        return fail(*failure)
    return result if isinstance(result, int) else 0


def _is_text(word: str) -> bool:
    """Bytes that are no UTF-8 come in as half surrogates, which nothing can store or show."""
    return not any("\ud800" <= character <= "\udfff" for character in word)


def _near(message: str) -> str | None:
    """Return the command that was probably meant, where the message names none."""
    from difflib import get_close_matches

    said = re.fullmatch("No such command '(.+)'", message)
    return next(iter(get_close_matches(said[1], commands_of(None), n=1)), None) if said else None


def _usage(error: Any) -> int:  # noqa: ANN401
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(f"{error.format_message()}\n")
        return 2
    hint = error.ctx.command_path if getattr(error, "ctx", None) else "aipm"
    message = error.format_message().rstrip(".").replace("Value error, ", "")
    if near := _near(message):
        message = f"{message}. Did you mean {near!r}?"
    return fail(f"{message}{'' if message.endswith('?') else ';'} see `{hint} --help`", 2)
