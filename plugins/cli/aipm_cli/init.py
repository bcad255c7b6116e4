"""``aipm init``: a commented settings file and the data directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from aipm_cli.api import AsJson, check_local, say, show

TEMPLATE = """\
# Settings of aipm. Everything here is a default; delete what you do not change.

data_dir = ".aipm-data"      # the database lives here, private to you; relative to this file
locale = "ja"                # language of the texts agents and people read: ja | en
# person = "mia"             # who gives commands here; left out: the operator

[server]
host = "127.0.0.1"           # another host also needs behind_tls_proxy and allowed_hosts
port = 8137                  # 0 takes any free port

[store]
url = "sqlite"

[log]
level = "warning"            # debug | info | warning | error, on stderr
format = "text"              # json gives one object a line

# One table per plugin. First-party plugins are on unless switched off here, third-party plugins
# are off until they are named here. `aipm plugins` shows what is installed.
#
# [plugins.sessions]
# idle_seconds = 3600
#
# [plugins.weather]          # from `aipm plugins new weather`
# enabled = true
"""


def init(
    directory: Annotated[Path, typer.Argument(help="Where to put aipm.toml.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a commented aipm.toml and make the data directory; nothing is overwritten."""
    from aipm_cli import settings_file
    from aipm_cli.settings_place import FILE
    from aipm_core import StartupError

    check_local(strict=False)
    file = directory / FILE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        written = _write_new(file)
        settings = settings_file.load(file)
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartupError(f"cannot write in {directory}: {error.strerror}") from error
    data = {"config": str(file.resolve()), "data_dir": str(settings.data_dir), "written": written}
    show(data, as_json=as_json, human=lambda: _tell(file, settings.data_dir, written=written))


def _write_new(file: Path) -> bool:
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(TEMPLATE)
    return True


def _tell(file: Path, data_dir: Path, *, written: bool) -> None:
    say(f"{'wrote' if written else 'kept'} {file} (data in {data_dir})")
    say("next: aipm project add demo --dir ./demo")
    say("      aipm agent add worker-1 --project demo")
    say("      aipm up")
