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
from typing import TypeVar

import anyio
from aipm_sessions.api import Directory

from aipm_core import PluginContext, Tx, background
from aipm_file_chat.api import Message
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.files import append_all, faults_of, sync_all
from aipm_file_chat.places import Place, Reason
from aipm_file_chat.progress import Batch, Progress
from aipm_file_chat.rounds import Rounds
from aipm_file_chat.tables import OUTBOX, message_of

logger = logging.getLogger(__name__)
T = TypeVar("T")
_PAGE = 500
_PATIENCE = 10.0  # seconds a sender waits for its lines; they are written later all the same
_IDLE = 3600.0


class Projection:
    """The way from the outbox to the files."""

    def __init__(self, ctx: PluginContext[FileChatConfig], directory: Directory) -> None:
        self._ctx = ctx
        self._directory = directory
        self._progress = Progress(ctx.config.retry_seconds)
        self._writing = Rounds[None, None](self._write)
        self._looking = Rounds[Place, dict[Place, Reason | None]](self._look)
        ctx.meter.gauge("chat_files_late", lambda: self._progress.late)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Write what an earlier process left, then look after the outbox while we live."""
        self._threads = ThreadPoolExecutor(2, "aipm-chat")
        try:
            await self._tidy()
            async with background(chat_files=self._upkeep):
                yield
            await self._tidy()
        finally:
            await self._writing.finish()
            self._threads.shutdown()

    def turn(self) -> AbstractAsyncContextManager[bool]:
        """Be the only one who writes chat files; say whether the last one was this process too."""
        return self._ctx.store.turn("chat")

    async def faults(self, places: Sequence[Place]) -> dict[Place, Reason | None]:
        """Say which places are not fit for a chat file."""
        return await self._looking.join(*places)

    async def write_out(self) -> None:
        """Put everything stored so far into the files; if that fails it is tried again later."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._writing.join()
        except TimeoutError:
            logger.warning("chat files are still being written after %s s", _PATIENCE)
        except Exception:
            logger.exception("chat files could not be written; they will be later")

    async def _look(self, places: Sequence[Place]) -> dict[Place, Reason | None]:
        return await self._in_thread(lambda: faults_of(set(places)))

    async def _write(self, _: Sequence[None]) -> None:
        async with self.turn() as ours:
            if not ours:
                self._progress.forget()
            try:
                await self._write_pages()
            except BaseException:
                self._progress.forget()
                raise

    async def _write_pages(self) -> None:
        progress, directories = self._progress, dict[str, str | None]()
        progress.begin(self._ctx.clock())
        while messages := await self._page(progress.cursor):
            for project_id in {m.project_id for m in messages} - directories.keys():
                project = await self._directory.project(self._ctx.store, project_id)
                place = project.directory if project else None
                directories[project_id] = str(place) if place else None
            if batches := progress.batches(messages, directories):
                await self._in_thread(lambda todo=batches: append_all(todo))  # type: ignore[misc]
                self._report(batches)
                progress.note(batches, self._ctx.clock())
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
                self._ctx.meter.count("chat_append_failures")
                logger.warning(
                    "%s could not be written (%s): %d stored messages wait for it",
                    *(batch.place.path, batch.error, len(batch.lines)),
                )

    async def _upkeep(self) -> None:
        """Also write what nobody waits for: of a cancelled call, of a process that died."""
        while True:
            await self._ctx.store.wait_until((OUTBOX,), self._anything, _IDLE)
            await anyio.sleep(self._ctx.config.sync_seconds)
            await self._tidy()

    async def _anything(self) -> bool | None:
        return await self._ctx.store.one("select 1 from chat_outbox limit 1") is not None or None

    async def _tidy(self) -> None:
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
