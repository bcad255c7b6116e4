"""What plugins see of a database.

SQL uses ``?`` places and the part of the language that SQLite and PostgreSQL share. A write unit is
an ``async`` function of a transaction: the SQLite engine runs it to its end on the writer thread,
a networked engine can await inside it. So a unit awaits its transaction and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

T = TypeVar("T")


class Row(Protocol):
    """One row: columns by name or by place."""

    def __getitem__(self, key: str | int, /) -> Any:  # noqa: ANN401
        """Return one column."""
        ...

    def keys(self) -> Sequence[str]:
        """List the columns."""
        ...


class Reader(Protocol):
    """What can be read from: the store itself, or an open transaction."""

    async def one(self, sql: str, /, *params: object) -> Row | None:
        """Return the first row of an indexed query, if there is one."""
        ...

    async def all(self, sql: str, /, *params: object) -> list[Row]:
        """Return every row of a short, bounded query."""
        ...


class Tx(Reader, Protocol):
    """One open transaction. All of it happens, or none."""

    async def run(self, sql: str, /, *params: object) -> int:
        """Execute, and return how many rows changed."""
        ...

    def wake(self, *topics: str) -> None:
        """After the commit, wake whoever waits for one of these topics, in any process."""
        ...


Unit: TypeAlias = Callable[[Tx], Coroutine[Any, Any, T]]
Dialect: TypeAlias = Literal["sqlite", "postgresql"]
Progress: TypeAlias = Callable[[int, int], None]
"""Told how much of how much is done; may be called from another thread."""


class Store(Reader, Protocol):
    """The database behind every plugin. Reading is made for hot paths: it waits for nothing."""

    @property
    def dialect(self) -> Dialect:
        """Which engine this is, for the rare statement that has to know."""
        ...

    @property
    def ending(self) -> bool:
        """Whether the program has been told to stop: from then on no wait waits."""
        ...

    async def scan(self, sql: str, /, *params: object) -> list[Row]:
        """Read what may be long, without holding up anybody else."""
        ...

    async def write(self, unit: Unit[T]) -> T:
        """Run ``unit`` as one transaction; return its result once it is on disk."""
        ...

    async def wait_until(
        self, topics: Sequence[str], look: Callable[[], Awaitable[T | None]], seconds: float
    ) -> T | None:
        """Return what ``look`` finds, looking again when a topic is woken; ``None`` in the end.

        The listening starts before the first look, so no wake-up is lost between the two.
        """
        ...

    def turn(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Be the only one, of all processes on this store, who does the named thing.

        Yields whether the last turn was this process's too: then nobody else has been at it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of a plugin's schema. A step that has shipped is never edited.

    ``sql`` holds statements that every engine understands, or one text per engine
    (``{"sqlite": …, "postgresql": …}``).
    """

    name: str
    sql: str | Mapping[str, str]

    def sql_for(self, engine: Dialect) -> str:
        """Return the statements for one engine; none if the step does not concern it."""
        return self.sql if isinstance(self.sql, str) else self.sql.get(engine, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How an engine finds its data."""

    sound: bool
    message: str


class Engine(Store, Protocol):
    """A store that can be opened. Only the runtime sees this face."""

    def opened(
        self, migrations: Mapping[str, Sequence[Migration]]
    ) -> AbstractAsyncContextManager[None]:
        """Open, bring the tables up to date, and close in the end."""
        ...

    async def condition(self) -> Condition:
        """Say whether the data is whole, for ``aipm doctor``."""
        ...

    def end_waits(self) -> None:
        """Let every present and future wait return ``None`` at once: the program stops."""
        ...

    async def copy_to(self, file: Path, progress: Progress) -> None:
        """Write everything to a new file, as of one moment, while others go on working.

        The store need not be open, and tables are copied as they are. The copy has been read back
        and found whole when this returns; a file that exists is never touched.
        """
        ...

    def restore_from(
        self, file: Path, migrations: Mapping[str, Sequence[Migration]], *, replace: bool
    ) -> Path | None:
        """Put a copy in the place of the data; return where the data before it is kept.

        The store must be closed, here and in every other process. A copy that is damaged, or that
        a newer program made, is refused before anything is changed.
        """
        ...
