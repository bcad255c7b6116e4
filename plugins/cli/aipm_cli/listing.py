"""Lists for people: tables that fit their terminal, short ids, and times that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

_SHORTEST = 12  # characters of an id: its kind, and enough to tell a hundred thousand apart
_GAP = 2
_NARROWEST = 6
_MOST_NAMED = 5
_UNITS = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Print a table as wide as the terminal, or one line that says how to get something into it.

    The first column names the thing and is whole; of the others the widest give way.
    """
    from aipm_cli.api import say

    lines = [[_cell(value) for value in row] for row in rows]
    if not lines:
        say(empty)
        return
    for line in table_lines(columns, lines):
        say(line)


def table_lines(
    columns: Sequence[str], lines: Sequence[Sequence[str]], *, width: int | None = None
) -> Iterable[str]:
    """Return the lines of a table as wide as the terminal, a heading and a rule first."""
    from rich.cells import cell_len, set_cell_size

    widths = [max(map(cell_len, cells)) for cells in zip(columns, *lines, strict=True)]
    _narrow(widths, width or screen_width())

    def fitted(cells: Sequence[str]) -> str:
        cut = [
            set_cell_size(cell, room) if cell_len(cell) <= room else _cut(cell, room)
            for cell, room in zip(cells, widths, strict=True)
        ]
        return (" " * _GAP).join(cut).rstrip()

    yield fitted(columns)
    yield (" " * _GAP).join("─" * room for room in widths)
    yield from (fitted(line) for line in lines)


def _narrow(widths: list[int], width: int) -> None:
    """Take from the widest columns, the first excepted, until all fit."""
    room = width - _GAP * (len(widths) - 1)
    while sum(widths) > room:
        widest = max(range(1, len(widths)), key=lambda place: widths[place], default=0)
        if widest == 0 or widths[widest] <= _NARROWEST:
            return
        widths[widest] -= 1


def _cut(text: str, room: int) -> str:
    """Cut a text to so many columns of a terminal, with a mark that it goes on."""
    from rich.cells import set_cell_size

    return set_cell_size(set_cell_size(text, room - 1).rstrip() + "…", room)


def wrapped(text: str, *, indent: int) -> list[str]:
    """Break a text into lines that fit the terminal; those after the first are set in."""
    from rich.cells import cell_len, set_cell_size

    width, lines, line = screen_width(), list[str](), text
    while cell_len(line) > width:
        head = set_cell_size(line, width).rstrip()
        head = head[:-1] if not line.startswith(head) else head  # half of a wide character
        blank = head.rfind(" ", indent + 1)
        cut = blank if blank > len(head) // 2 else len(head)
        lines.append(line[:cut].rstrip())
        line = " " * indent + line[cut:].lstrip()
    return [*lines, line]


def screen_width() -> int:
    """Return how many columns the terminal has; 80 where there is none."""
    import shutil

    return max(shutil.get_terminal_size((80, 24)).columns, 40)


def short_ids(ids: Iterable[str]) -> Mapping[str, str]:
    """Return the beginnings of ids that tell them apart, as `git` shows them."""
    known = sorted(set(ids))
    short: dict[str, str] = {}
    for place, one in enumerate(known):
        beside = known[max(place - 1, 0) : place] + known[place + 1 : place + 2]
        shared = max((_shared(one, other) for other in beside), default=0)
        short[one] = one[: max(_SHORTEST, shared + 1)]
    return short


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def matching(
    rows: Iterable[Mapping[str, Any]], text: str, what: str, *, key: str = "id"
) -> Mapping[str, Any]:
    """Return the row that an id names, or the beginning of one; refuse what names none or many."""
    from aipm_core import CallError, quoted

    found = [row for row in rows if str(row[key]).startswith(text)]
    exact = [row for row in found if row[key] == text]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found or not text:
        listed = {"item": "inbox", "decision": "inbox", "run": "runs list"}.get(
            what, f"{what} list"
        )
        message = f"there is no {what} {quoted(text)!r}; `aipm {listed}` lists those there are"
        raise CallError(message, code=f"{what}_not_found", status=404)
    these = ", ".join(str(row[key]) for row in found[:_MOST_NAMED])
    message = f"{quoted(text)} is the beginning of several ids: {these}"
    raise CallError(message, code=f"{what}_ambiguous", status=400)


def since(moment: str | None, *, now: datetime | None = None) -> str:
    """Return how long ago a moment was, or (+) how long there is until it: 45s, 3m, 2h, 5d."""
    if not moment:
        return ""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    size = abs(int(seconds))
    unit, sign = next(((u, s) for u, s in _UNITS if size >= u), (1, "s"))
    return f"{'+' if seconds < -1 else ''}{size // unit}{sign}"


def local_time(moment: str | None) -> str:
    """Return a moment by the clock on the wall; the day too unless it is today."""
    if not moment:
        return ""
    try:
        then = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    today = then.date() == datetime.now().astimezone().date()
    return f"{then:%H:%M:%S}" if today else f"{then:%Y-%m-%d %H:%M}"


def _cell(value: object) -> str:
    from aipm_cli.api import clean

    return "" if value is None else " ".join(clean(str(value)).split())
