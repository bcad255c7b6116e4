"""A table written as text, read into rows and columns."""

from __future__ import annotations

from collections.abc import Mapping


def read(text: str, words: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the cells by row and column; short words are written out."""
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().split("\n")]
    made: dict[str, dict[str, str]] = {}
    for row in rows:
        assert len(row) == len(head), f"{row[0]} has {len(row)} cells, not {len(head)}"
        assert row[0] not in made, f"{row[0]} stands twice"
        made[row[0]] = {state: words.get(cell, cell) for state, cell in zip(head, row, strict=True)}
        del made[row[0]][head[0]]
    return made
