"""``aipm backup`` and ``aipm restore``: one file that holds everything, and the way back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from aipm_cli.api import AsJson, Config, console, load_settings, migrations_of, say, show

if TYPE_CHECKING:
    from aipm_store.keeping import CopyProgress


def backup(
    target: Annotated[Path, typer.Argument(help="A new file, or a directory to put it in.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Copy the database to one file, while a server runs or not; nothing is overwritten.

    The settings file is not in it: keep that with your own files. Chat files are written anew
    from the database.
    """
    import anyio

    from aipm_store.engines import engine_for

    settings = load_settings(config)
    file = target / _name() if target.is_dir() else target
    engine = engine_for(settings)
    with progress_bar() as progress:
        anyio.run(engine.copy_to, file, progress)
    data = {"file": str(file.resolve()), "bytes": file.stat().st_size}
    show(data, as_json=as_json, human=lambda: _tell_backup(file))


def restore(
    file: Annotated[Path, typer.Argument(help="What `aipm backup` wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the database; the old one is kept beside it.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of the database; nobody may be using it."""
    from aipm_store.engines import engine_for

    settings = load_settings(config)
    engine = engine_for(settings)
    kept = engine.restore_from(file, migrations_of(settings), replace=replace)
    data = {
        "file": str(file.resolve()),
        "data_dir": str(settings.data_dir),
        "previous": str(kept) if kept else None,
    }
    show(data, as_json=as_json, human=lambda: _tell_restore(settings.data_dir, kept))


def _name() -> str:
    from datetime import UTC, datetime

    return f"aipm-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.db"


@contextmanager
def progress_bar() -> Iterator[CopyProgress]:
    """Show how far a long copy is, to a person; machines and pipes see nothing."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import Progress as Bar

    with Bar(console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("copying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell_backup(file: Path) -> None:
    say(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB, checked, readable by you only)")
    say("back:  aipm restore FILE")


def _tell_restore(data_dir: Path, kept: Path | None) -> None:
    say(f"restored into {data_dir}")
    if kept:
        say(f"  the database before it: {kept}")
    say("  a token revoked since the backup is valid again: aipm token list, aipm token revoke")
    say("  next: aipm doctor --rebuild-chat writes the chat files anew, aipm up starts the server")
