"""Copies every table from one side to the other, then reads both and compares."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aipm_core import Migration, StoreError
from aipm_store.copying.side import Engine, Rows, Side, Tables, Target
from aipm_store.keeping import CopyProgress

_WIDTH = 1 << 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a finished copy consists of."""

    tables: int
    rows: int


async def copy(
    source: Engine,
    target: Engine,
    migrations: Mapping[str, Sequence[Migration]],
    progress: CopyProgress,
) -> Copied:
    """Copy everything, or raise and leave the target as it was."""
    async with source.source() as old, target.target(migrations) as new:
        tables = _shared(await old.tables(), await new.tables())
        total, done = sum([await old.count(table) for table in tables]), 0
        for table in await new.order(list(tables)):
            done += await _copy_table(old, new, table, tables[table])
            progress(done, total)
        await new.go_on_counting(_of(await old.counters(), tables))
        return Copied(tables=len(tables), rows=done)


def _shared(old: Tables, new: Tables) -> Tables:
    """Return the tables both have; refuse columns that would be lost."""
    for table in old.keys() & new.keys():
        if lost := sorted(set(old[table]) - set(new[table])):
            raise StoreError(
                f"{table} has columns that this program does not know ({', '.join(lost)}); "
                "copy with the version that wrote them"
            )
    return {table: list(old[table]) for table in sorted(old.keys() & new.keys())}


async def _copy_table(old: Side, new: Target, table: str, columns: Sequence[str]) -> int:
    read = _Digest(old.rows(table, columns))
    await new.fill(table, columns, read.passing())
    written = _Digest(new.rows(table, columns))
    async for _ in written.passing():
        pass
    if read.told != written.told:
        raise StoreError(f"the copy of {table} differs from what was read; nothing was kept")
    return read.count


def _of(counters: Mapping[str, int], tables: Tables) -> Mapping[str, int]:
    return {table: last for table, last in counters.items() if table in tables}


class _Digest:
    """Counts and sums up rows as they pass by, whatever their order."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.count = 0
        self._sum = 0

    async def passing(self) -> Rows:
        """Return the same rows."""
        async for row in self._rows:
            self.count += 1
            digest = hashlib.sha256("\x1f".join(map(_text, row)).encode()).digest()
            self._sum = (self._sum + int.from_bytes(digest)) % _WIDTH
            yield row

    @property
    def told(self) -> tuple[int, int]:
        """Return what two sets of the same rows have in common."""
        return self.count, self._sum


def _text(value: Any) -> str:  # noqa: ANN401
    """Return a value as both engines would tell it: 1 and 1.0 are the same number to SQLite."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value.hex() if isinstance(value, bytes) else f"{value}" if value is not None else "\x00"
