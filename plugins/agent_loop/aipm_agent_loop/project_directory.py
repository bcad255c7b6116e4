"""A project's directory, entered step by step through descriptors: no link leads out of it."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_DEEPEST = 64
_PRIVATE = ".ai-pm"  # what agents write each other is read through their chat, not from here


class OutOfBounds(Exception):
    """The path leads out of the project, or to something that is not a plain file."""


class ProjectDirectory:
    """One project's directory, and the data directory that must stay closed even inside it."""

    def __init__(self, root: Path, data_dir: Path) -> None:
        self._root = root
        self._data_dir = data_dir

    @contextmanager
    def directory(self, path: str) -> Iterator[int]:
        """Open a directory."""
        with self._opened(_steps(path)) as descriptor:
            yield descriptor

    @contextmanager
    def file(self, path: str) -> Iterator[int]:
        """Open a plain file for reading."""
        *parents, name = _steps(path) or [""]
        if not name:
            raise OutOfBounds(path)
        with self._opened(parents) as parent:
            descriptor = _open(name, _FILE, parent)
            try:
                info = os.fstat(descriptor)
                if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
                    raise OutOfBounds(path)
                yield descriptor
            finally:
                os.close(descriptor)

    @contextmanager
    def _opened(self, steps: list[str]) -> Iterator[int]:
        current = _open(str(self._root), _DIRECTORY, None)
        try:
            self._refuse_own_data(current)
            for step in steps:
                inner = _open(step, _DIRECTORY, current)
                os.close(current)
                current = inner
                self._refuse_own_data(current)
            yield current
        finally:
            os.close(current)

    def _refuse_own_data(self, descriptor: int) -> None:
        here = os.fstat(descriptor)
        try:
            own = self._data_dir.stat()
        except OSError:
            return
        if (here.st_dev, here.st_ino) == (own.st_dev, own.st_ino):
            raise OutOfBounds("the data directory of the program")


def _steps(path: str) -> list[str]:
    if "\x00" in path or path.startswith("/"):
        raise OutOfBounds(path)
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if ".." in steps or len(steps) > _DEEPEST or any(map(_is_private, steps)):
        raise OutOfBounds(path)
    return steps


def _is_private(step: str) -> bool:
    """Compare as the most forgiving file systems do: without case and invisible characters."""
    letters = (c for c in unicodedata.normalize("NFKC", step) if unicodedata.category(c) != "Cf")
    return "".join(letters).casefold() == _PRIVATE


def _open(name: str, flags: int, parent: int | None) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        raise
    except (OSError, UnicodeEncodeError) as error:
        raise OutOfBounds(name) from error
