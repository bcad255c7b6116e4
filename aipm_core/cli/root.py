"""The root of the command line: finds commands by entry point and turns errors into exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer._click.exceptions import ClickException  # typer exports only its subclasses
from typer.core import TyperGroup
from typer.main import get_command

from aipm_core.cli.failures import fail, foreseen
from aipm_core.errors import PluginError

GROUP = "aipm.commands"


class Root(TyperGroup):
    """Every command of every installed plugin, each imported when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """List command names."""
        return sorted(_points())

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List what there is; building every command for its first line takes as long again."""
        rows = [(name, _summary(point)) for name, point in sorted(_points().items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401
        """Import one command."""
        point = _points().get(cmd_name)
        return _command(point) if point else None


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _command(point: EntryPoint) -> Any:  # noqa: ANN401
    loaded = _loaded(point)
    if not isinstance(loaded, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name=point.name)(loaded)
        loaded = app
    command = get_command(loaded)
    command.name = point.name
    return command


def _summary(point: EntryPoint) -> str:
    """Return the first line of a command's help."""
    loaded = _loaded(point)
    if isinstance(loaded, typer.Typer):
        callbacks = [command.callback for command in loaded.registered_commands]
        text = loaded.info.help or (callbacks[0].__doc__ if callbacks and callbacks[0] else "")
    else:
        text = loaded.__doc__
    return str(text or "").strip().partition("\n")[0]


def _loaded(point: EntryPoint) -> Any:  # noqa: ANN401
    try:
        return point.load()
    except Exception as error:  # noqa: BLE001 - one broken plugin must not take the others along
        return _broken(point, error)


def _broken(point: EntryPoint, error: Exception) -> Callable[[], None]:
    owner = point.dist.name if point.dist else "?"

    def broken() -> None:
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
    for place, word in enumerate(sys.argv[1:] if argv is None else argv, 1):
        if not _is_text(word):
            return fail(f"word {place} of the command is not text in UTF-8", 2)
    try:
        result = get_command(app).main(args=argv, prog_name="aipm", standalone_mode=False)
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


def _usage(error: Any) -> int:  # noqa: ANN401
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(f"{error.format_message()}\n")
        return 2
    hint = error.ctx.command_path if getattr(error, "ctx", None) else "aipm"
    return fail(f"{error.format_message().rstrip('.')}; see `{hint} --help`", 2)
