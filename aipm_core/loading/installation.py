"""What the kernel leaves to the program around it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext

from aipm_core.records import Gateway, Lifespan, Owned, Transport
from aipm_core.store import Store


class Installation:
    """Says nothing and holds nobody to account, unless a program knows more."""

    people = True
    """Whether a person can call anything in this program."""

    def owner_of(self, words: str) -> str | None:
        """Name the plugin that is switched off and has the words for a tool, and so the tool."""

    def hooks(self) -> Collection[str]:
        """Return the hooks of plugins that may just be switched off."""
        return ()

    def is_own(self, plugin: type) -> bool:
        """Return whether a plugin belongs to the program itself, and so keeps its names."""
        return False

    def limited(self, plugin: str, what: str) -> AbstractContextManager[None]:
        """Give a plugin's plain code, which runs in the block, a time to return in."""
        return nullcontext()

    def alive(self, owned: Owned[Lifespan]) -> AbstractAsyncContextManager[None]:
        """Hold a lifespan open."""
        return owned.record.open()

    async def serve(
        self, transports: Sequence[Owned[Transport]], gateway: Gateway, store: Store
    ) -> None:
        """Run transports until all are done."""
        await asyncio.gather(*(owned.record.serve(gateway) for owned in transports))
