"""What an operator asks of an engine: whether the data is whole, a copy, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from aipm_core import Engine, Migration

CopyProgress: TypeAlias = Callable[[int, int], None]
"""Told how much of how much is done; may be called from another thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How an engine finds its data."""

    sound: bool
    message: str


class KeptEngine(Engine, Protocol):
    """An engine whose data can be looked at, copied and put back."""

    async def condition(self) -> Condition:
        """Return whether the data is whole, for ``aipm doctor``."""
        ...

    async def copy_to(self, file: Path, progress: CopyProgress) -> None:
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
