"""What copying needs of a database, whichever engine it is.

Only tables that both engines have are copied. What one of them has for itself (an index of words,
who holds a lock) is made anew by the program that finds it missing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias

from aipm_core import Migration

Rows: TypeAlias = AsyncIterator[tuple[Any, ...]]
Tables: TypeAlias = Mapping[str, Sequence[str]]
"""The columns of every table, by its name."""


class Side(Protocol):
    """One database, open for as long as the copy takes."""

    async def tables(self) -> Tables:
        """Return the tables the program keeps its data in, with their columns."""

    async def count(self, table: str) -> int:
        """Return how many rows a table has."""

    def rows(self, table: str, columns: Sequence[str]) -> Rows:
        """Return the rows of a table, in no order."""

    async def counters(self) -> Mapping[str, int]:
        """Return the last number that each table has handed out, for those that count."""


class Target(Side, Protocol):
    """The database that is filled. What was done to it counts only when its context ends well."""

    async def fill(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        """Put these rows in the place of those that a migration has made."""

    async def order(self, tables: Sequence[str]) -> list[str]:
        """Return the tables in an order in which references point to what is there already."""

    async def go_on_counting(self, counters: Mapping[str, int]) -> None:
        """Hand out no number again."""


class Engine(Protocol):
    """Opens one of the two sides."""

    def source(self) -> AbstractAsyncContextManager[Side]:
        """Open for reading, as of one moment; refused while somebody else works on it."""

    def target(
        self, migrations: Mapping[str, Sequence[Migration]]
    ) -> AbstractAsyncContextManager[Target]:
        """Make the tables where there are none; refused where there is data."""
