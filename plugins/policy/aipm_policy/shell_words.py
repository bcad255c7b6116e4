"""Words of a shell's line: what they say for certain, and where only the shell will know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\(["\\$`])')
_OPEN = re.compile(r"(\\.|[*?\[\]{}])", re.DOTALL)
_BRACES = re.compile(r"(?<!\\)[{}]")


@dataclass(frozen=True, slots=True)
class Word:
    """One word. ``None`` among its pieces stands for a text that only the shell will know.

    ``sure`` says that the word is what ``text`` says; names of files that ``*`` stands for count
    as written.
    """

    pieces: tuple[str | None, ...]
    text: str
    sure: bool = True

    @classmethod
    def of(cls, text: str) -> Word:
        """Return a word that is what it says."""
        return cls((text,), text)


def join_words(words: tuple[Word, ...]) -> Word:
    """Return several words as one text with blanks in between."""
    pieces: list[str | None] = []
    for place, word in enumerate(words):
        pieces += ([" "] if place else []) + list(word.pieces)
    text = " ".join(word.text for word in words)
    return Word(tuple(pieces), text, all(word.sure for word in words))


def word_of(node: Node) -> Word:
    """Read a word from its place in the line."""
    source = _text(node)
    if node.type in ("word", "number", "variable_name", "string_content", "test_operator"):
        return _bare(source)
    if node.type == "raw_string":
        return Word.of(source[1:-1])
    if node.type == "string":
        return _quoted(node)
    if node.type in ("concatenation", "command_name", "variable_assignment"):
        return _glued([word_of(child) for child in node.children])
    unescaped = node.type == "ansi_c_string" and "\\" not in source
    if unescaped or not node.is_named:
        return Word.of(source[2:-1] if unescaped else source)
    return Word((None,), source, sure=False)


def _bare(source: str) -> Word:
    pieces: list[str | None] = []
    for piece in filter(None, _OPEN.split(source)):
        if piece.startswith("\\"):
            pieces.append(_ESCAPED.sub(r"\1", piece))
        else:
            pieces.append(None if _OPEN.fullmatch(piece) else piece)
    return Word(tuple(pieces), _ESCAPED.sub(r"\1", source), _BRACES.search(source) is None)


def _quoted(node: Node) -> Word:
    pieces: list[str | None] = []
    for child in node.children:
        if child.type == "string_content":
            pieces.append(_ESCAPED_IN_QUOTES.sub(r"\1", _text(child)))
        elif child.type != '"':
            pieces.append(None)
    if None in pieces:
        return Word(tuple(pieces), _text(node)[1:-1], sure=False)
    # What stands between the marks, whichever of it the parser has made a part of its own.
    whole = _ESCAPED_IN_QUOTES.sub(r"\1", _text(node)[1:-1])
    return Word.of(whole)


def _glued(words: list[Word]) -> Word:
    pieces = tuple(piece for word in words for piece in word.pieces)
    return Word(pieces, "".join(word.text for word in words), all(word.sure for word in words))


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
