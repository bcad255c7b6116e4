"""What plugins see of a database.

SQL uses ``?`` places and the part of the language that SQLite and PostgreSQL share. A write unit is
an ``async`` function of a transaction: the SQLite engine runs it to its end on the writer thread,
a networked engine can await inside it. So a unit awaits its transaction and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

T = TypeVar("T")


class Row(Protocol):
    """One row: columns by name or by place."""

    def __getitem__(self, key: str | int, /) -> Any:  # noqa: ANN401
        """Return one column."""

    def keys(self) -> Sequence[str]:
        """List the columns."""


class Reader(Protocol):
    """What can be read from: the store itself, or an open transaction."""

    async def one(self, sql: str, /, *params: object) -> Row | None:
        """Return the first row of an indexed query, if there is one."""

    async def all(self, sql: str, /, *params: object) -> list[Row]:
        """Return every row of a short, bounded query."""


class Tx(Reader, Protocol):
    """One open transaction. All of it happens, or none."""

    async def run(self, sql: str, /, *params: object) -> int:
        """Execute, and return how many rows changed."""

    def wake(self, *topics: str) -> None:
        """After the commit, wake whoever waits for one of these topics, in any process."""


Unit: TypeAlias = Callable[[Tx], Coroutine[Any, Any, T]]
Dialect: TypeAlias = Literal["sqlite", "postgresql"]
WakeNote: TypeAlias = Callable[[Tx, AbstractSet[str]], Coroutine[Any, Any, None]]
"""Writes down, inside a transaction, which topics it is going to wake."""


@dataclass(frozen=True, slots=True)
class Turn:
    """``ours``: nobody else had the last one. Ask ``lasts`` before what cannot be taken back."""

    ours: bool
    lasts: Callable[[], bool]


class Store(Reader, Protocol):
    """The database behind every plugin. Reading is made for hot paths: it waits for nothing."""

    @property
    def dialect(self) -> Dialect:
        """Which engine this is, for the rare statement that has to know."""

    @property
    def ending(self) -> bool:
        """Whether the program has been told to stop: from then on no wait waits."""

    async def scan(self, sql: str, /, *params: object) -> list[Row]:
        """Read what may be long, without holding up anybody else."""

    async def write(self, unit: Unit[T]) -> T:
        """Run ``unit`` as one transaction; return its result once it is on disk."""

    async def wait_until(
        self, topics: Sequence[str], look: Callable[[], Awaitable[T | None]], seconds: float
    ) -> T | None:
        """Listen, then return what ``look`` finds, now or when a topic is woken; or ``None``."""

    def note_wakes(self, note: WakeNote) -> None:
        """Let ``note`` take part in every transaction that wakes a topic.

        What is noted is committed with the change itself. Call it while plugins are built.
        """

    def turn(self, name: str) -> AbstractAsyncContextManager[Turn]:
        """Be the only one, of all processes on this store, who does the named thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of a plugin's schema. A step that has shipped is never edited.

    ``sql`` is for every engine, or one text each (``{"sqlite": …, "postgresql": …}``).
    """

    name: str
    sql: str | Mapping[str, str]

    def sql_for(self, engine: Dialect) -> str:
        """Return the statements for one engine; none if the step does not concern it."""
        return self.sql if isinstance(self.sql, str) else self.sql.get(engine, "")
