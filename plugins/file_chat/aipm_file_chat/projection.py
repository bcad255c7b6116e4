"""Writes what is stored into the chat files: in order, once, whatever is killed when.

The commit of a message is the point from which it is never lost. Then one writer at a time (of all
processes) appends the lines of the outbox; callers that come together share one append. Rows leave
the outbox only after the files are synced to the disk, so a crash at any moment leaves rows whose
lines may be there or not, and the next writer looks before it writes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
from aipm_operations.api import METRICS
from aipm_sessions.api import Directory

from aipm_core import PluginContext, Turn, Tx, background
from aipm_file_chat.api import Message
from aipm_file_chat.coalescing import Coalesced
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.files import append_all, faults_of, sync_all
from aipm_file_chat.progress import Batch, WriteProgress
from aipm_file_chat.safe_paths import ChatPath, Reason
from aipm_file_chat.tables import OUTBOX, message_of

logger = logging.getLogger(__name__)
T = TypeVar("T")
_PAGE = 500
_WRITE_TIMEOUT_SECONDS = 10.0  # a sender waits for its lines; they are written later all the same
_RECHECK_SECONDS = 3600.0


class Projection:
    """The way from the outbox to the files."""

    def __init__(self, ctx: PluginContext[FileChatConfig], directory: Directory) -> None:
        self._ctx = ctx
        self._directory = directory
        self._progress = WriteProgress(ctx.config.retry_seconds)
        self._places: dict[str, Path | None] = {}
        self._writing = Coalesced[None, None](self._write)
        self._looking = Coalesced[ChatPath, dict[ChatPath, Reason | None]](self._look)
        self._metrics = ctx.services.find(METRICS)
        if self._metrics is not None:
            self._metrics.gauge("chat_files_late", lambda: self._progress.late)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Write what an earlier process left, then look after the outbox while we live."""
        self._threads = ThreadPoolExecutor(2, "aipm-chat")
        try:
            await self.tidy()
            async with background(chat_files=self._upkeep):
                yield
            await self.tidy()
        finally:
            await self._writing.finish()
            self._threads.shutdown()

    async def moved(self, tx: Tx, project_id: str) -> None:
        """Have all messages of a project written again: its files are somewhere else now."""
        await tx.run(
            "insert into chat_outbox (seq) select seq from messages where project_id = ? "
            "on conflict do nothing",
            project_id,
        )
        tx.wake(OUTBOX)

    def turn(self) -> AbstractAsyncContextManager[Turn]:
        """Be the only one who writes chat files."""
        return self._ctx.store.turn("chat")

    def doubt(self) -> None:
        """Look into the files before writing again: somebody else has been at them."""
        self._progress.forget()

    async def faults(self, places: Sequence[ChatPath]) -> dict[ChatPath, Reason | None]:
        """Return which places are not fit for a chat file."""
        return await self._looking.join(*places)

    async def write_out(self) -> None:
        """Put everything stored so far into the files; if that fails it is tried again later."""
        try:
            async with asyncio.timeout(_WRITE_TIMEOUT_SECONDS):
                await self._writing.join()
        except TimeoutError:
            logger.warning("chat files are still being written after %s s", _WRITE_TIMEOUT_SECONDS)
        except Exception:
            logger.exception("chat files could not be written; they will be later")

    async def _look(self, places: Sequence[ChatPath]) -> dict[ChatPath, Reason | None]:
        return await self._in_thread(lambda: faults_of(set(places)))

    async def _write(self, _: Sequence[None]) -> None:
        async with self.turn() as turn:
            if await self._is_moved() or not turn.ours:
                self._progress.forget()
            try:
                await self._write_pages(turn.lasts)
            except BaseException:
                self._progress.forget()
                raise

    async def _is_moved(self) -> bool:
        """Return whether a project has another directory than when this process last looked."""
        before, found = self._places, await self._directory.projects(self._ctx.store)
        self._places = {project.id: project.directory for project in found}
        return any(before.get(name, place) != place for name, place in self._places.items())

    async def _write_pages(self, lasts: Callable[[], bool]) -> None:
        progress, directories = self._progress, dict[str, str | None]()
        progress.begin(self._ctx.clock())
        while messages := await self._page(progress.cursor):
            for project_id in {m.project_id for m in messages} - directories.keys():
                project = await self._directory.project(self._ctx.store, project_id)
                place = project.directory if project else None
                directories[project_id] = str(place) if place else None
            if batches := progress.batches(messages, directories):
                await self._in_thread(partial(append_all, batches, lasts))
                self._report(batches)
                progress.note(batches, self._ctx.clock())
            if len(messages) < _PAGE:  # whoever stores more waits for a round of its own
                break
        progress.end()

    async def _page(self, after: int) -> list[Message]:
        rows = await self._ctx.store.all(
            "select m.* from chat_outbox o join messages m on m.seq = o.seq "
            "where o.seq > ? order by o.seq limit ?",
            *(after, _PAGE),
        )
        return [message_of(row) for row in rows]

    def _report(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            if batch.error is not None:
                if self._metrics is not None:
                    self._metrics.count("chat_append_failures")
                logger.warning(
                    "%s could not be written (%s): %d stored messages wait for it",
                    *(batch.place.path, batch.error, len(batch.lines)),
                )

    async def _upkeep(self) -> None:
        """Also write what nobody waits for: of a cancelled call, of a process that died."""
        while True:
            await self._ctx.store.wait_until((OUTBOX,), self._anything, _RECHECK_SECONDS)
            await anyio.sleep(self._ctx.config.sync_seconds)
            await self.tidy()

    async def _anything(self) -> bool | None:
        return await self._ctx.store.one("select 1 from chat_outbox limit 1") is not None or None

    async def tidy(self) -> None:
        """Write, sync to the disk, and take what is safe there out of the outbox."""
        if not await self._anything():
            return
        await self.write_out()
        try:
            await self._settle()
        except OSError:
            logger.exception("chat files could not be synced; they will be later")

    async def _settle(self) -> None:
        progress = self._progress
        written, unsynced = frozenset(progress.written), frozenset(progress.unsynced)
        if not written:
            return
        progress.unsynced -= unsynced  # before: what is appended from now on needs its own sync
        try:
            await self._in_thread(lambda: sync_all(unsynced))
            await self._ctx.store.write(lambda tx: _leave(tx, written))
        except BaseException:
            progress.unsynced |= unsynced
            raise
        progress.written -= written

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


async def _leave(tx: Tx, written: frozenset[int]) -> None:
    for some in batched(sorted(written)):
        places = ", ".join("?" for _ in some)
        await tx.run(f"delete from chat_outbox where seq in ({places})", *some)


def batched(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut into parts of bearable length for one statement."""
    for start in range(0, len(numbers), _PAGE):
        yield numbers[start : start + _PAGE]
