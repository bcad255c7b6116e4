"""What of a message its sender says in their own words: neither code nor a quote.

Read as people write in chats, after CommonMark: fences of backticks or tildes, code between equal
runs of backticks within a paragraph, and lines that begin with ``>`` of any width. What is in
doubt counts as code or quote, for then nothing is opened by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

HIDDEN = "`"
"""Stands in place of every letter that is not the sender's own; no marker has it."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FENCE = re.compile(r"\A\s*(`{3,}(?=[^`]*\Z)|~{3,})")
_LETTER = re.compile(r"[^\r\n]")
_BACKTICKS = re.compile("`+")
_QUOTES = (">", "＞")


def own_words(content: str) -> str:
    """Return a text of the same length without code and quotes, whose lines all end with LF."""
    return "".join(_parts(content)).replace("\r", "\n")


def _parts(content: str) -> Iterator[str]:
    fence, paragraph = "", list[str]()
    for line in _LINE.findall(content):
        text = line.strip()
        opening = None if fence else _FENCE.match(line)
        hidden = bool(fence or opening or text.startswith(_QUOTES))
        if not hidden and text:
            paragraph.append(line)
            continue
        yield from _without_code("".join(paragraph))
        paragraph.clear()
        yield _LETTER.sub(HIDDEN, line) if hidden else line
        if opening is not None:
            fence = opening[1]
        elif fence and _closes(text, fence):
            fence = ""
    yield from _without_code("".join(paragraph))


def _closes(text: str, fence: str) -> bool:
    return len(text) >= len(fence) and not text.strip(fence[0])


def _without_code(paragraph: str) -> Iterator[str]:
    """Hide what stands between two runs of backticks of one length."""
    runs = [run.span() for run in _BACKTICKS.finditer(paragraph)]
    end = 0
    for (start, _), stop in zip(runs, _closings(runs), strict=True):
        if stop and start >= end:
            yield paragraph[end:start]
            yield _LETTER.sub(HIDDEN, paragraph[start:stop])
            end = stop
    yield paragraph[end:]


def _closings(runs: list[tuple[int, int]]) -> list[int]:
    """Say of each run where the code it begins ends; 0 if it begins none."""
    ends: dict[int, int] = {}
    found = []
    for start, end in reversed(runs):
        found.append(ends.get(end - start, 0))
        ends[end - start] = end
    return found[::-1]
