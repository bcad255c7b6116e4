"""Paths an agent names for ``file:read`` and ``file:list``: none leads out of the project."""

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from aipm_agent_loop.project_directory import OutOfBounds, ProjectDirectory
from hypothesis import strategies as st

from tests.fuzz.target import Target

ALLOWED, FORBIDDEN = b"inside", b"outside"


class Land(NamedTuple):
    """A project with every trap in it, and what may be seen of it."""

    place: ProjectDirectory
    files: frozenset[int]
    directories: frozenset[int]


@cache
def land() -> Land:
    outside = Path(tempfile.mkdtemp(prefix="aipm-fuzz-"))
    root = outside / "project"
    for name in ("a/b/c", ".ai-pm/agents/x", "a/.ai-pm/agents", "a/.AI-PM", "data"):
        (root / name).mkdir(parents=True)
    for name in ("f", "a/f", "a/b/f", "a/b/c/f", "é", "..."):
        (root / name).write_bytes(ALLOWED)
    hidden = (".ai-pm/agents/x/f", "a/.ai-pm/agents/f", "a/.AI-PM/f", "data/f")
    for secret in (outside / "secret", *(root / name for name in hidden)):
        secret.write_bytes(FORBIDDEN)
    (root / "link").symlink_to(outside / "secret")
    (root / "out").symlink_to(outside)
    (root / "a/up").symlink_to("..")
    (root / "hard").hardlink_to(outside / "secret")
    os.mkfifo(root / "pipe")
    seen = [root, root / "a", root / "a/b", root / "a/b/c"]
    files = [file for file in root.rglob("*") if file.is_file() and file.read_bytes() == ALLOWED]
    return Land(
        ProjectDirectory(root, root / "data"),
        frozenset(file.stat().st_ino for file in files),
        frozenset(directory.stat().st_ino for directory in seen),
    )


def check(path: str) -> None:
    here = land()
    try:
        with here.place.file(path) as descriptor:
            assert os.fstat(descriptor).st_ino in here.files
            assert os.pread(descriptor, 100, 0) == ALLOWED
    except (OutOfBounds, FileNotFoundError):
        pass
    try:
        with here.place.directory(path) as descriptor:
            assert os.fstat(descriptor).st_ino in here.directories
    except (OutOfBounds, FileNotFoundError):
        pass


def read(data: bytes) -> str:
    """Let control bytes stand for whole steps."""
    text = b"".join(PIECES[byte].encode() if byte < len(PIECES) else bytes([byte]) for byte in data)
    return text.decode("utf-8", errors="surrogateescape")


PIECES = (
    *("/", "..", ".", "f", "a", "b", "c", "link", "out", "up", "hard", "pipe", "data", ".ai-pm"),
    ".AI-PM",
    *("agents", "x", "secret", "project", "\x00", "é", "...", "~", "\\", "a/b/", "../", "./"),
)
TARGET = Target[str](
    read=read,
    check=check,
    values=st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=12).map("/".join)
    | st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    parse=None,
    words=tuple(piece.encode() for piece in PIECES),
    longest=120,
)
