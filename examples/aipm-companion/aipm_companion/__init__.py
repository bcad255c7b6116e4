"""Shows people a mood their agents have: an event, a view with a panel, and a page of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from aipm_http_server.api import Receive, Route, Scope, Send, answer, bearer, send_json
from aipm_ui_gateway.api import EventPayload, EventType
from aipm_views.api import Ids, Record, View
from aipm_web_ui.api import Column, Panel

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    Gateway,
    Json,
    Migration,
    Plugin,
    Reader,
    Tx,
    hookimpl,
    tool,
)


class Mood(Arguments):
    """How an agent feels."""

    mood: Literal["calm", "busy", "stuck"]


class MoodChanged(EventPayload):
    """What user interfaces are told."""

    mood: str


MOOD = EventType("onMood", MoodChanged)
_SET = (
    "insert into companion_moods (agent_id, project_id, mood) values (?, ?, ?) "
    "on conflict (agent_id, project_id) do update set mood = excluded.mood"
)


class Companion(Plugin):
    """Agents say how it goes, people see it."""

    aipm_api = 1

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        columns = "agent_id text, project_id text, mood text, primary key (agent_id, project_id)"
        yield Migration(name="0001_moods", sql=f"create table companion_moods ({columns});")

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.set_mood, access=Access.SESSION, idempotent=True)

    @hookimpl(optionalhook=True)
    def aipm_event_types(self) -> Iterable[EventType]:
        yield MOOD

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        yield View(name="companion", topics=("companion:{project}",), read=self._read)

    @hookimpl(optionalhook=True)
    def aipm_panels(self) -> Iterable[Panel]:
        title, view = {"ja": "気分", "en": "Moods"}, "companion"
        columns = (Column(field="agent", shows="member"), Column(field="mood"))
        yield Panel(name="moods", title=title, kind="table", view=view, columns=columns)

    @hookimpl(optionalhook=True)
    def aipm_routes(self) -> Iterable[Route]:
        yield Route(path="/api/companion", build=self._application)

    async def set_mood(self, call: Call, args: Mood) -> Json:
        """Say how it goes."""
        caller = call.caller

        async def unit(tx: Tx) -> Json:
            await tx.run(_SET, caller.agent_id, caller.project_id, args.mood)
            await self.ctx.events.record(tx, MOOD.event(MoodChanged(mood=args.mood), caller.id))
            tx.wake(f"companion:{caller.project_id}")
            return {"mood": args.mood}

        return await call.write(self.ctx.store, unit)

    async def _read(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        sql = "select agent_id, mood from companion_moods where project_id = ?"
        return [
            Record(id=row["agent_id"], data={"agent": row["agent_id"], "mood": row["mood"]})
            for row in await db.all(sql, project_id)
        ]

    def _application(self, gateway: Gateway):  # type: ignore[no-untyped-def] # noqa: ANN202
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            """Count moods, for a person with a token; whoever has none learns nothing."""
            if await gateway.authenticate(bearer(scope["headers"]) or "", "ui") is None:
                await answer(send, 401, "ui_token_required", "a person's token is needed")
                return
            sql = "select mood, count(*) as n from companion_moods group by mood"
            rows = await self.ctx.store.all(sql)
            await send_json(send, 200, {row["mood"]: row["n"] for row in rows})

        return app
