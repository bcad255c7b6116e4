"""The changes of a project as server-sent events, for one person."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from aipm_http_server.api import Receive, Send
from aipm_sessions.api import DIRECTORY, PEOPLE, TOKENS_CHANGED, Agent, members_topic

from aipm_core import PluginContext, Row
from aipm_views.config import ViewsConfig
from aipm_views.projector import Projector
from aipm_views.records import changed_topic, one_line
from aipm_views.state import Page, StateReader

logger = logging.getLogger(__name__)
_HEADERS = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
_RESYNC = b'data: {"resync":true}\n\n'
_LOOK_AGAIN_SECONDS = 60.0  # a token also ends by itself, and nobody is woken then


class Streams:
    """Open streams: how many a person has, and who may keep one."""

    def __init__(
        self, ctx: PluginContext[ViewsConfig], reader: StateReader, projector: Projector
    ) -> None:
        self._ctx = ctx
        self._reader = reader
        self._projector = projector
        self._people = ctx.services.use(PEOPLE)
        self._directory = ctx.services.use(DIRECTORY)
        self._open: Counter[str] = Counter()

    async def serve(
        self,
        person: Agent,
        token: str,
        project_id: str,
        after: int | None,
        receive: Receive,
        send: Send,
    ) -> None:
        """Send changes until the reader, the right to read or the program ends."""
        with self._counted(person.id):
            await self._projector.ready(project_id)
            place = await self._reader.cursor(project_id) if after is None else after
            stream = _Stream(
                self._ctx, self._reader, self._projector, person.id, project_id, place, send
            )
            try:
                await stream.start()
                ended = await _first(
                    stream.run(), _until_gone(receive), self._until_out(person, token, project_id)
                )
                if ended == "out":
                    await stream.put(_RESYNC)
                if ended != "gone":
                    await stream.end()
            except TimeoutError:
                logger.warning("dropped a stream of %s: too slow", person.id)
            except OSError:
                return  # the client has left

    @contextmanager
    def _counted(self, person_id: str) -> Iterator[None]:
        if self._open[person_id] >= self._ctx.config.max_streams_per_person:
            raise self._ctx.refuse("too_many_connections", 429)
        self._open[person_id] += 1
        try:
            yield
        finally:
            self._open[person_id] -= 1
            self._open += Counter()  # drops those at zero

    async def _until_out(self, person: Agent, token: str, project_id: str) -> str:
        """Return when a person's token or membership has ended."""
        store, topics = self._ctx.store, (TOKENS_CHANGED, members_topic(project_id))

        async def look() -> bool | None:
            if await self._people.person_of(token) is None:
                return True
            return not await self._directory.is_member(store, person.id, project_id) or None

        while not store.ending:
            if await store.wait_until(topics, look, _LOOK_AGAIN_SECONDS):
                return "out"
        return await _never()  # the writer says good-bye


class _Stream:
    """One reader's place in the changes of a project."""

    def __init__(
        self,
        ctx: PluginContext[ViewsConfig],
        reader: StateReader,
        projector: Projector,
        person_id: str,
        project_id: str,
        place: int,
        send: Send,
    ) -> None:
        self._ctx = ctx
        self._reader = reader
        self._projector = projector
        self._person_id = person_id
        self._project_id = project_id
        self._place = place
        self._told = place
        self._send = send

    async def start(self) -> None:
        """Send the headers; the first line makes proxies and browsers see an open stream."""
        await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await self.put(b"retry: 1000\n: ready\n\n")

    async def run(self) -> str:
        """Send changes, and a comment when there are none for long."""
        if not await self._reader.knows(self._project_id, self._place):
            await self._resync()
        store, seconds = self._ctx.store, self._ctx.config.heartbeat_seconds
        topics = (changed_topic(self._project_id),)
        while not store.ending:
            page = await store.wait_until(topics, self._look, seconds)
            if page is not None:
                await self._write(page)
            elif not store.ending:
                await self._heartbeat()
        return "stopping"

    async def _look(self) -> Page | None:
        """Return the next changes; go past those of others without a word."""
        page = await self._reader.changes(self._project_id, self._person_id, self._place)
        if page is not None and not page.changes and await self._is_whole():
            self._place = page.cursor
            return None
        return page

    async def _is_whole(self) -> bool:
        return await self._reader.knows(self._project_id, self._place)

    async def _write(self, page: Page) -> None:
        # Asked after the changes were read: what was forgotten before is missing in them.
        if not await self._is_whole():
            await self._resync()
            return
        await self.put(b"".join(_frame(change) for change in page.changes))
        self._place, self._told = page.cursor, page.changes[-1]["seq"]

    async def _resync(self) -> None:
        self._place = self._told = await self._reader.cursor(self._project_id)
        await self.put(_RESYNC)

    async def _heartbeat(self) -> None:
        """Show that the stream lives, and from where it can go on if that is news."""
        await self._projector.ready(self._project_id)
        place = b"id: %d\n" % self._place if self._place != self._told else b""
        self._told = self._place
        await self.put(place + b": heartbeat\n\n")

    async def put(self, text: bytes) -> None:
        """Send some text, to a reader that takes it in time."""
        async with asyncio.timeout(self._ctx.config.drain_seconds):
            await self._send({"type": "http.response.body", "body": text, "more_body": True})

    async def end(self) -> None:
        """Finish the response."""
        await self._send({"type": "http.response.body", "body": b""})


def _frame(change: Row) -> bytes:
    seq, record = change["seq"], change["record"]
    text = (
        f'id: {seq}\ndata: {{"cursor":"{seq}","view":{one_line(change["view"])},'
        f'"id":{one_line(change["id"])},"record":{record or "null"}}}\n\n'
    )
    return text.encode()


async def _until_gone(receive: Receive) -> str:
    while (await receive())["type"] != "http.disconnect":
        pass
    return "gone"


async def _never() -> str:
    await anyio.sleep_forever()
    raise AssertionError


async def _first(*works: Any) -> str:  # noqa: ANN401
    """Run all, return the result of the first that ends, and stop the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        result: str = next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return result
