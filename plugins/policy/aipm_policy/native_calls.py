"""A program's own call as rules see it: its commands one by one, its files, where they are."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aipm_core import Json
from aipm_policy.api import Inquiry
from aipm_policy.shell import Part, read_line
from aipm_policy.shell_words import Word

COMMAND, PATH = "command", "path"
_PATHS = (PATH, "real_path")
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HERE = ("$PWD", "${PWD}", "$(pwd)")
_NO_FILES = frozenset({"native:WebFetch", "native:WebSearch", "native:Agent", "native:Plan"})
_SHELL = "native:Bash"
Place: TypeAlias = Literal["inside", "outside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What a rule looks at: one command of a line, or a whole call that has none."""

    inquiry: Inquiry
    part: Part | None = None
    unreadable: bool = False


def pieces_of(inquiry: Inquiry) -> list[Piece]:
    """Take a call apart; each piece is judged by itself."""
    command = inquiry.args.get(COMMAND) if inquiry.tool.name == _SHELL else None
    if command is None:
        return [Piece(inquiry=inquiry)]
    if isinstance(command, str):
        line = read_line(command)
        found = [Piece(inquiry=inquiry, part=part) for part in line.parts]
        if not line.readable:
            found.append(Piece(inquiry=inquiry, unreadable=True))
        return found or [Piece(inquiry=inquiry, part=Part(()))]
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        words = tuple(Word.of(word) for word in command)
        return [Piece(inquiry=inquiry, part=Part(words))]
    return [Piece(inquiry=inquiry, unreadable=True)]


def is_native(inquiry: Inquiry) -> bool:
    """Return whether a program would use a tool of its own."""
    return inquiry.tool.audience == "native"


def paths_of(piece: Piece) -> list[Word]:
    """Return what may name files: paths among the arguments, and words behind a command's name."""
    if piece.part is None:
        return [Word.of(text) for text in _told(piece.inquiry.args)]
    behind = (*piece.part.assignments, *piece.part.words[1:])
    return [name for word in behind for name in _names(word)]


def place_of(piece: Piece) -> Place | None:
    """Return whether all files of a call are in the working copy; ``None`` if nobody knows."""
    inquiry = piece.inquiry
    if inquiry.tool.name in _NO_FILES or (inquiry.tool.name == _SHELL and _is_bare(piece)):
        return "inside"
    paths, root = paths_of(piece), inquiry.workplace
    if piece.unreadable or root is None or (piece.part is None and not paths):
        return None
    start = inquiry.args.get("cwd")
    start = posixpath.join(root, start) if isinstance(start, str) else root
    inside = all(_is_inside(word, start, root) for word in paths)
    return "inside" if inside and _is_inside(Word.of(start), root, root) else "outside"


def _is_bare(piece: Piece) -> bool:
    """Return whether a shell is used without a command: to end one, say."""
    return piece.part is None and not piece.unreadable


def _told(arguments: Mapping[str, Json]) -> Iterator[str]:
    for name in _PATHS:
        value = arguments.get(name)
        yield from (str(one) for one in (value if isinstance(value, list) else [value]) if one)


def _names(word: Word) -> Iterator[Word]:
    """Yield a word, and what an option or an assignment says behind its name."""
    yield word
    if not word.sure or _ADDRESS.match(word.text):
        return
    name, equals, value = word.text.partition("=")
    if equals:
        yield Word.of(value)
    elif name.startswith("-"):
        starts = [place for place in map(name.find, ("/", "~")) if place > 0]
        if starts:
            yield Word.of(name[min(starts) :])


def _is_inside(word: Word, start: str, root: str) -> bool:
    text = word.text
    for here in _HERE:
        if text == here or text.startswith(f"{here}/"):
            text = start + text[len(here) :]
            break
    else:
        if word.pieces and word.pieces[0] is None and not word.sure:
            return False  # it may be anything
    if _ADDRESS.match(text) or text.startswith("-") or text == "/dev/null":
        return True
    if text.startswith("~"):
        return False
    whole = posixpath.normpath(posixpath.join(start, text))
    return whole == root or whole.startswith(root.rstrip("/") + "/")
