"""A line that says how far a long sweep is; pytest shows it with ``-s``, terminals draw a bar."""

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

_EVERY = 30.0  # seconds between lines where no bar can be drawn


def counted(what: str, numbers: range) -> Iterator[int]:
    """Yield the numbers and show how far they are."""
    with Progress(what, len(numbers)) as progress:
        for number in numbers:
            yield number
            progress.step()


class Progress:
    """So much of so much is done."""

    def __init__(self, what: str, total: int) -> None:
        self._console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bar = Bar(*columns, TimeElapsedColumn(), console=self._console)
        self._task = self._bar.add_task(what, total=total)
        self._what, self._total, self._done = what, total, 0
        self._began = self._told = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def step(self) -> None:
        """Count one more."""
        self._done += 1
        self._bar.update(self._task, completed=self._done)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._told > _EVERY:
            self._told = now
            text = f"{self._what}: {self._done}/{self._total} after {now - self._began:.0f} s"
            self._console.print(text)
