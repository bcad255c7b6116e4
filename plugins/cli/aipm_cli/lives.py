"""Lifespans and transports, each in a task of its own: one that fails takes nobody along."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from aipm_core import Gateway, Lifespan, Owned, PluginError, StartupError, Store, Transport
from aipm_core.host import kept_going, owner

logger = logging.getLogger(__name__)
_GRACE_SECONDS = 2.0  # for transports that are still open when the program stops


class _Life:
    """One lifespan: opened, held and left in the same task, as task groups want it."""

    def __init__(self, owned: Owned[Lifespan]) -> None:
        self._owned = owned
        self._open, self._over = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._held())
        self._task.add_done_callback(self._ended)

    async def _held(self) -> None:
        owner.set(self._owned.plugin)
        try:
            async with self._owned.record.open():
                self._open.set()
                await self._over.wait()
        except (SystemExit, KeyboardInterrupt) as error:  # in a task they would end the program
            raise RuntimeError(repr(error)) from error

    async def begin(self) -> None:
        """Wait until it is open; refuse to start without it."""
        life, plugin = self._owned.record, self._owned.plugin
        opening = asyncio.create_task(self._open.wait())
        either = (self._task, opening)
        await asyncio.wait(either, timeout=life.deadline, return_when=asyncio.FIRST_COMPLETED)
        opening.cancel()
        if self._open.is_set():
            return
        self._over.set()
        if not self._task.done():
            self._task.cancel()
            raise PluginError(plugin, f"{life.name} did not start within {life.deadline} s")
        error = None if self._task.cancelled() else self._task.exception()
        if isinstance(error, StartupError):
            raise error
        raise PluginError(plugin, f"{life.name} failed to start: {error}") from error

    async def end(self) -> None:
        """Let it finish; one that does not is named and left behind."""
        self._over.set()
        life, plugin = self._owned.record, self._owned.plugin
        await asyncio.wait((self._task,), timeout=life.ending)
        if not self._task.done():
            words, about = "plugin %s: %s did not end within %s s and is left", {"plugin": plugin}
            logger.error(words, plugin, life.name, life.ending, extra=about)
            self._task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Name whoever raises, or ends while it should be open."""
        error = None if task.cancelled() else task.exception()
        if self._open.is_set() and (error or not (self._over.is_set() or task.cancelled())):
            about = {"plugin": self._owned.plugin}
            values = (self._owned.plugin, self._owned.record.name)
            logger.error("plugin %s: lifespan %s failed", *values, exc_info=error, extra=about)


@asynccontextmanager
async def alive(owned: Owned[Lifespan]) -> AsyncGenerator[None]:
    """Hold a lifespan open."""
    life = _Life(owned)
    try:
        await life.begin()
        yield
    finally:
        await life.end()


async def serve_all(transports: Sequence[Owned[Transport]], gateway: Gateway, store: Store) -> None:
    """Run transports until all are done; who is not when the program stops gets a moment."""

    async def run(owned: Owned[Transport]) -> None:
        owner.set(owned.plugin)
        name = f"transport {owned.record.name}"
        await kept_going(name, lambda: owned.record.serve(gateway), until=lambda: store.ending)

    tasks = {asyncio.create_task(run(owned)) for owned in transports}
    try:
        while tasks:
            grace = _GRACE_SECONDS if store.ending else None
            done, tasks = await asyncio.wait(
                tasks, timeout=grace, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            if not done:
                return
    finally:
        for task in tasks:
            task.cancel()
