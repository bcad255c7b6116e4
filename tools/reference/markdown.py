"""Pieces of Markdown the pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def page(title: str, introduction: str, *parts: str) -> str:
    """Put a page together, with a note for who would edit it by hand."""
    note = "<!-- Written by tools/reference; run `make docs` after a change. -->"
    body = "\n\n".join(part.strip() for part in (introduction, *parts) if part.strip())
    return f"# {title}\n{note}\n\n{body}\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table; what stands in a cell cannot end it."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def cell(text: str) -> str:
    """Make a text fit into a cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def code(text: object) -> str:
    """Show a text as code."""
    return f"`{text}`"


def plain(docstring: str | None) -> str:
    """Turn the marks of docstrings into Markdown."""
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", docstring or "")
    return text.replace("``", "`").strip()


def literal(text: str) -> str:
    """Show a text as it is: what looks like Markdown or HTML in it is not."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", text)
