"""A private home for each run: its program's settings, login and memory, and nobody else's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_PRIVATE_DIRECTORY, _PRIVATE_FILE = 0o700, 0o600


class Homes:
    """Directories below the data directory, one for each run that needs one."""

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / "homes"

    def make(self, run_id: str) -> Path:
        """Make the home of a run, readable for nobody else."""
        home = (self._root / run_id).resolve()
        for directory in (self._root, home, home / "tmp"):
            directory.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
            directory.chmod(_PRIVATE_DIRECTORY)
        return home

    def fill(self, home: Path, files: Mapping[str, str]) -> None:
        """Write files below a home; raises ``ValueError`` for one that would lie elsewhere."""
        for name, text in files.items():
            path = _inside(home, name)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE_FILE)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)

    def log_in(self, home: Path, person: Path, files: Iterable[str]) -> None:
        """Let a run use a person's login: links, so that a renewed login is renewed for both."""
        for name in files:
            source, link = person / name, _inside(home, name)
            if source.is_file() and not link.exists():
                link.symlink_to(source.resolve())

    def remove(self, run_id: str) -> None:
        """Remove the home of a run."""
        shutil.rmtree(self._root / run_id, ignore_errors=True)

    def has(self, name: str) -> bool:
        """Return whether there is such a home here."""
        return (self._root / name).is_dir()

    def age_seconds(self, name: str, now: float) -> float:
        """Return for how long nothing was added to a home."""
        with suppress(OSError):
            return now - (self._root / name).stat().st_mtime
        return 0.0

    def names(self) -> set[str]:
        """Return the runs that have a home."""
        with suppress(OSError):
            return {home.name for home in self._root.iterdir()}
        return set()


def _inside(home: Path, name: str) -> Path:
    path = Path(os.path.normpath(home / name))
    if path == home or not path.is_relative_to(home):
        raise ValueError(f"the file {name!r} would lie outside of the run's home")
    path.parent.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    return path
