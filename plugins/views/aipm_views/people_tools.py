"""What people do with the items of their inbox besides answering them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from aipm_sessions.api import DECISIONS, DIRECTORY
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, tool
from aipm_views.activity import SHOWN, recent_activity
from aipm_views.api import InboxSource, ViewHooks
from aipm_views.config import ViewsConfig
from aipm_views.decisions import item_of, summed_up
from aipm_views.inbox import PeoplesInboxes
from aipm_views.inbox_notes import PersonalNotes

_ID = Field(max_length=80)


class Item(Arguments):
    """An item of one's own inbox."""

    project_id: str = _ID
    item_id: str = _ID


class SnoozeItem(Item):
    """Arguments of ``snooze_item``."""

    until: str = Field(max_length=40)


class HandOverItem(Item):
    """Arguments of ``hand_over_item``."""

    to: str = _ID
    note: str | None = Field(default=None, max_length=1000)


class ReadInbox(Arguments):
    """Arguments of ``read_inbox``."""

    project_id: str | None = Field(default=None, max_length=64)


class ReadActivity(ReadInbox):
    """Arguments of ``read_activity``."""

    limit: int = Field(default=50, ge=1, le=SHOWN)


class PeoplesTools:
    """Membership is checked before; here every item is one of the caller's own."""

    def __init__(self, ctx: PluginContext[ViewsConfig], notes: PersonalNotes) -> None:
        self._ctx = ctx
        self._notes = notes
        self._directory = ctx.services.use(DIRECTORY)
        self._inboxes = PeoplesInboxes(self._sources, self._directory)
        self._decisions = ctx.services.use(DECISIONS)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        for run in (self.snooze_item, self.hand_over_item):
            yield tool(run, access=Access.PERSON, audience="ui", idempotent=True)

        yield tool(self.read_inbox, access=Access.PERSON, audience="ui", read_only=True)
        yield tool(self.read_activity, access=Access.PERSON, audience="ui", read_only=True)

    def _sources(self) -> Iterable[InboxSource]:
        return (owned.record for owned in self._ctx.given(ViewHooks.aipm_inbox_items))

    async def read_inbox(self, call: Call, args: ReadInbox) -> Json:
        """List what waits for the caller, oldest first."""
        db, named = self._ctx.store, args.project_id
        reach = await self._directory.reach(db, call.caller)
        projects = [named] if named is not None else reach
        items = await self._inboxes.items(db, call.caller, projects)
        for decision in await self._decisions.pending(db, named):
            if decision.project_id in projects:
                item = items.setdefault(decision.id, item_of(decision))
                items[decision.id] = item and {**item, "summary": decision.summary}
        waiting = [summed_up(item) for item in items.values() if item is not None]
        return {"items": sorted(waiting, key=lambda item: str(item["since"]))}

    async def read_activity(self, call: Call, args: ReadActivity) -> Json:
        """List what was done lately in the caller's projects, oldest of it first."""
        db, named = self._ctx.store, args.project_id
        reach = await self._directory.reach(db, call.caller)
        sources = [owned.record for owned in self._ctx.given(ViewHooks.aipm_activity)]
        found: list[dict[str, Json]] = []
        for project in [named] if named is not None else reach:
            newest = await recent_activity(sources, db, project, None)
            found += [{**(one.data or {}), "project_id": project} for one in newest]
        found.sort(key=lambda one: (str(one["at"]), str(one["id"])))
        return {"activity": [*found[-args.limit :]]}

    async def snooze_item(self, call: Call, args: SnoozeItem) -> Json:
        """Put an item off."""
        write = partial(call.write, self._ctx.store)
        who, project = call.caller.agent_id, args.project_id
        await self._notes.snooze(who, project, args.item_id, args.until, write=write)
        return {"item_id": args.item_id}

    async def hand_over_item(self, call: Call, args: HandOverItem) -> Json:
        """Leave an item to another person."""
        write = partial(call.write, self._ctx.store)
        who, project = call.caller.agent_id, args.project_id
        await self._notes.hand_over(who, project, args.item_id, args.to, args.note, write=write)
        return {"item_id": args.item_id, "to": args.to}
