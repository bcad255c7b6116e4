"""Where settings files are looked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FILE = "aipm.toml"


def named(config: Path | None) -> Path | None:
    """Return the file that is named, by an option or by ``AIPM_CONFIG``."""
    variable = os.environ.get("AIPM_CONFIG", "").strip()
    return config or (Path(variable) if variable else None)


def places(config: Path | None) -> tuple[Path, ...]:
    """Return the files to try, the first that exists is used; a named one is the only one."""
    given = named(config)
    return (Path(FILE), *_above(), user_file()) if given is None else (given,)


def _above() -> Iterator[Path]:
    """Look in the directories above, as far as they are this user's own."""
    try:
        here = Path.cwd()
        mine = here.stat().st_uid
        for directory in here.parents:
            if directory.stat().st_uid != mine:
                return
            yield directory / FILE
    except OSError:
        return


def user_file() -> Path:
    """Return where a user's own settings file would be."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "aipm" / FILE
