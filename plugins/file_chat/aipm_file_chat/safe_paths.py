"""Opens chat files so that nothing planted in a project can lead a write astray.

Every step goes through the descriptor of the directory above it and follows no link: a checked
path could be swapped before it is used, a descriptor cannot.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple, TypeAlias

FILE = "chat.jsonl"
ROOT = ".ai-pm"
_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_IGNORE = b"# written by aipm: what agents say to each other stays out of git\n*\n"

Reason: TypeAlias = Literal["link", "not_a_file", "hard_link", "foreign", "missing", "unusable"]
_REASONS: dict[int | None, Reason] = {
    errno.ELOOP: "link",
    errno.ENOTDIR: "link",
    errno.EISDIR: "not_a_file",
    errno.ENXIO: "not_a_file",
    errno.ENOENT: "missing",
}


class ChatPath(NamedTuple):
    """Whose chat file, in which project directory."""

    directory: str
    agent_id: str

    @property
    def path(self) -> str:
        """The whole path, for people who run the program."""
        return f"{self.directory}/{self.shown}"

    @property
    def shown(self) -> str:
        """The path as it may be told to an agent: below the project directory."""
        return f"{ROOT}/agents/{self.agent_id}/{FILE}"


class UnsafePath(Exception):
    """The file cannot be opened safely, or not at all."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason: Reason = reason


class ChatDirectories:
    """The directories above chat files, opened once for everything done in one go."""

    def __init__(self) -> None:
        self._agents: dict[str, int] = {}

    def __enter__(self) -> ChatDirectories:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._agents.values():
            os.close(folder)

    @contextmanager
    def folder(self, place: ChatPath) -> Iterator[int]:
        """Open the directory of an agent's chat file, making what is missing."""
        with _translated():
            folder = _enter(self._agents_of(place.directory), place.agent_id)
        try:
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def file(self, place: ChatPath, *, create: bool = True) -> Iterator[int]:
        """Open an agent's chat file for appending and reading; make it if it is not there."""
        flags = os.O_RDWR | os.O_APPEND | _SAFE | (os.O_CREAT if create else 0)
        with self.folder(place) as folder:
            with _translated():
                handle = os.open(FILE, flags, 0o600, dir_fd=folder)
            try:
                _check_file(os.fstat(handle))
                yield handle
            finally:
                os.close(handle)

    def _agents_of(self, directory: str) -> int:
        """Return the directory that holds the agents' ones, without opening it again."""
        if directory not in self._agents:
            project = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
            try:
                root = _enter(project, ROOT)
            finally:
                os.close(project)
            try:
                self._agents[directory] = _enter(root, "agents")
            finally:
                os.close(root)
        return self._agents[directory]


def _enter(above: int, name: str) -> int:
    """Open the directory ``name``, making it first if it is not there."""
    flags = os.O_RDONLY | os.O_DIRECTORY | _SAFE
    try:
        below = os.open(name, flags, dir_fd=above)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
        below = os.open(name, flags, dir_fd=above)
        if name == ROOT:
            _keep_out_of_git(below)
    if os.fstat(below).st_uid != os.geteuid():
        os.close(below)
        raise UnsafePath("foreign", f"the directory {name} belongs to another user")
    return below


def _keep_out_of_git(root: int) -> None:
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
        handle = os.open(".gitignore", flags, 0o600, dir_fd=root)
        try:
            os.write(handle, _IGNORE)
        finally:
            os.close(handle)


def _check_file(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnsafePath("not_a_file", "not a regular file")
    if found.st_nlink != 1:
        raise UnsafePath("hard_link", f"the file has {found.st_nlink} names")
    if found.st_uid != os.geteuid():
        raise UnsafePath("foreign", "the file belongs to another user")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno, "unusable")
        raise UnsafePath(reason, error.strerror or str(error)) from error
