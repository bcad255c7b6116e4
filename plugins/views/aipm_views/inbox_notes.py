"""Snoozing an item, and leaving it to somebody else. Neither answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from aipm_sessions.api import DIRECTORY

from aipm_core import Json, PluginContext, Tx, Unit, iso
from aipm_views.config import ViewsConfig
from aipm_views.inbox import notes_topic
from aipm_views.projector import Projector
from aipm_views.state import StateReader

Write: TypeAlias = Callable[[Unit[Any]], Awaitable[Any]]
_LONGEST_SNOOZE = timedelta(days=30)
_LONGEST_NOTE = 1000


class PersonalNotes:
    """The ``InboxNotes`` service."""

    def __init__(
        self, ctx: PluginContext[ViewsConfig], projector: Projector, reader: StateReader
    ) -> None:
        self._ctx = ctx
        self._projector = projector
        self._reader = reader
        self._directory = ctx.services.use(DIRECTORY)

    async def snooze(
        self,
        person_id: str,
        project_id: str,
        item_id: str,
        until: str,
        *,
        write: Write | None = None,
    ) -> None:
        """Put an item off until a moment."""
        moment = self._moment(until)
        await self._item(project_id, person_id, item_id)

        async def unit(tx: Tx) -> None:
            await tx.run(
                "insert into inbox_snoozes (project_id, person_id, item_id, until, at) "
                "values (?, ?, ?, ?, ?) on conflict (project_id, person_id, item_id) "
                "do update set until = excluded.until, at = excluded.at",
                *(project_id, person_id, item_id, moment, self._ctx.clock()),
            )
            tx.wake(notes_topic(project_id))

        await (write or self._ctx.store.write)(unit)

    async def hand_over(
        self,
        person_id: str,
        project_id: str,
        item_id: str,
        to: str,
        note: str | None = None,
        *,
        write: Write | None = None,
    ) -> None:
        """Leave an item to another person of the project."""
        item = await self._item(project_id, person_id, item_id)
        if to == person_id:
            raise self._ctx.refuse("cannot_hand_over_to_self", 400)
        if len(note or "") > _LONGEST_NOTE:
            raise self._ctx.refuse("note_too_long", 400, limit=_LONGEST_NOTE)
        if item["personal"]:
            raise self._ctx.refuse("item_is_personal", 409)

        async def unit(tx: Tx) -> None:
            await self._check_person(tx, project_id, to)
            await self._leave(tx, project_id, item_id, person_id, to, note)
            tx.wake(notes_topic(project_id))

        await (write or self._ctx.store.write)(unit)

    async def _leave(
        self, tx: Tx, project_id: str, item_id: str, giver: str, to: str, note: str | None
    ) -> None:
        """Write down who leaves it to whom; who gets it back has not left it any more."""
        await tx.run(
            "delete from inbox_handovers where project_id = ? and item_id = ? and from_id = ?",
            *(project_id, item_id, to),
        )
        await tx.run(
            "insert into inbox_handovers (project_id, item_id, from_id, to_id, note, at) "
            "values (?, ?, ?, ?, ?, ?) on conflict (project_id, item_id, from_id) do update "
            "set to_id = excluded.to_id, note = excluded.note, at = excluded.at",
            *(project_id, item_id, giver, to, note, self._ctx.clock()),
        )

    async def _item(self, project_id: str, person_id: str, item_id: str) -> dict[str, Json]:
        if not await self._directory.is_member(self._ctx.store, person_id, project_id):
            raise self._ctx.refuse("project_not_found", 404)
        await self._projector.ready(project_id)
        items = await self._reader.records(project_id, person_id, "inbox")
        if item_id not in items:
            raise self._ctx.refuse("item_not_found", 404)
        return items[item_id]

    async def _check_person(self, tx: Tx, project_id: str, person_id: str) -> None:
        person = await self._directory.agent(tx, person_id)
        there = await self._directory.is_member(tx, person_id, project_id)
        if person is None or person.kind != "human" or not there:
            raise self._ctx.refuse("person_not_found", 404, person_id=person_id)

    def _moment(self, until: str) -> str:
        """Read a moment that comes, but not in years."""
        try:
            read = datetime.fromisoformat(until)
            moment = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            raise self._ctx.refuse("invalid_moment", 400) from None
        now = self._ctx.clock()
        if not now < moment <= now + _LONGEST_SNOOZE.total_seconds():
            raise self._ctx.refuse("invalid_moment", 400)
        return iso(moment)
