"""``aipm db copy``: from SQLite to PostgreSQL, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from aipm_cli.api import AsJson, Config, load_settings, migrations_of, say, show

if TYPE_CHECKING:
    from pathlib import Path

    from aipm_store.copying.side import Engine
    from aipm_store.copying.transfer import Copied

app = typer.Typer(
    help="Move the data to another database.", rich_markup_mode=None, no_args_is_help=True
)
_VARIABLE = "AIPM_COPY_TO"


@app.callback()
def _group() -> None:
    """Move the data to another database."""


@app.command()
def copy(
    to: Annotated[
        str,
        typer.Option(
            envvar=_VARIABLE,
            help="'sqlite' (into data_dir) or postgresql://USER@HOST/DATABASE; an address with a "
            f"password goes into the variable {_VARIABLE}.",
        ),
    ],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Copy everything from the store of the settings to an empty one, and compare both."""
    import anyio

    from aipm_store.commands import progress_bar
    from aipm_store.copying.transfer import copy as copy_all
    from aipm_store.settings import StoreSettings

    settings = load_settings(config)
    _refuse_password(to)
    url = settings.section(StoreSettings).url
    source, target = _engine(url, settings.data_dir), _engine(to, settings.data_dir)
    if type(source) is type(target):
        raise typer.BadParameter(
            "the store of the settings is of that kind already; `aipm backup` copies an SQLite "
            "database, `pg_dump` a PostgreSQL one"
        )
    with progress_bar() as progress:
        copied = anyio.run(copy_all, source, target, migrations_of(settings), progress)
    data = {"tables": copied.tables, "rows": copied.rows}
    show(data, as_json=as_json, human=lambda: _tell(copied, to))


def _engine(url: str, data_dir: Path) -> Engine:
    from aipm_core import ConfigError

    scheme = url.partition(":")[0]
    if url == "sqlite":
        from aipm_store.copying.sqlite_side import SqliteEngine

        return SqliteEngine(data_dir)
    if scheme in ("postgres", "postgresql"):
        try:
            from aipm_store.copying.postgres_side import PostgresEngine
        except ModuleNotFoundError as error:
            raise ConfigError(
                "PostgreSQL's driver is not installed: pip install 'aipm-runtime[postgres]'"
            ) from error
        return PostgresEngine(url)
    raise typer.BadParameter(f"{scheme!r} is neither 'sqlite' nor 'postgresql://HOST/DATABASE'")


def _refuse_password(to: str) -> None:
    """Refuse a secret that everybody on the machine can read in the list of processes."""
    import os
    from urllib.parse import parse_qsl, urlsplit

    if os.environ.get(_VARIABLE) == to:
        return
    try:
        parts = urlsplit(to)
        secret = parts.password or dict(parse_qsl(parts.query)).get("password")
    except ValueError:
        secret = "unreadable"  # noqa: S105  # nosec B105 - not a password
    if secret:
        raise typer.BadParameter(
            f"a password does not belong on a command line: put the address into {_VARIABLE}, or "
            "the password into ~/.pgpass or PGPASSWORD"
        )


def _tell(copied: Copied, to: str) -> None:
    say(f"copied {copied.rows:,} rows of {copied.tables} tables, and read them back")
    say(f'next: [store] url = "{"sqlite" if to == "sqlite" else "postgresql://…"}" in aipm.toml')
    say("      aipm doctor, then aipm up; the old database is as it was")
