"""A change costs the same however many sessions an agent has; who follows one hears of it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import pytest
from aipm_notifications.api import INBOX
from aipm_notifications.plugin import Notifications
from aipm_sessions.api import OPERATOR, SESSIONS, Agent
from aipm_tasks.api import TASKS, NewTask
from aipm_tasks.plugin import Tasks
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.testing import Person, ServedTeam, served

from aipm_core import Session


class Watched(NamedTuple):
    """A manager and an agent below, in a running server."""

    stage: ServedTeam
    boss: Person
    agent: Agent

    async def session(self, purpose: Any = "task") -> Session:
        sessions, store = self.stage.runtime.services.use(SESSIONS), self.stage.runtime.store
        opened = await store.write(lambda tx: sessions.open(tx, self.agent, "p", purpose))
        return opened[0]

    async def change(self) -> None:
        """Leave a notification, and make a task."""
        services, store = self.stage.runtime.services, self.stage.runtime.store
        left: Any = {"agent_id": "below", "project_id": "p", "type": "message", "message": "m"}
        await store.write(lambda tx: services.use(INBOX).put(tx, **left))
        new = NewTask(title="t", actor_id=OPERATOR, assignee_id="below", project_id="p")
        await services.use(TASKS).add(new)

    async def rows(self) -> int:
        """Count every row there is."""
        store = self.stage.runtime.store
        tables = "select name from sqlite_master where type = 'table' and name not like 'sqlite%'"
        counts = [
            await store.all(f"select count(*) as n from {row['name']}")
            for row in await store.all(tables)
        ]
        return sum(count[0]["n"] for count in counts)


@asynccontextmanager
async def watched(**settings: Any) -> AsyncGenerator[Watched]:
    async with served(Notifications, Tasks, **settings) as stage:
        await stage.project()
        boss = await stage.person("boss", role="manager")
        yield Watched(stage, boss, await stage.agent("below", parent="boss"))


async def written(sessions: int) -> int:
    """Count the rows that one change writes."""
    async with watched(sessions={"max_sessions": 100}) as here:
        for _ in range(sessions):
            await here.session()
        before = await here.rows()
        await here.change()
        return await here.rows() - before


async def test_a_change_writes_as_much_for_one_session_as_for_fifty() -> None:
    assert await written(1) == await written(50)


async def test_who_follows_a_session_over_a_socket_hears_of_notifications_and_tasks() -> None:
    async with watched() as here:
        session = await here.session()
        async with connected(here.stage.ws, here.boss.token) as ui:
            await ui.command("openSession", {"sessionId": session.id})
            await here.change()
            with anyio.fail_after(5):
                told = [await ui.event(), await ui.event()]
        assert [event["type"] for event in told] == ["onNotification", "onTaskChange"]
        assert {event["payload"]["sessionId"] for event in told} == {session.id}


async def test_who_follows_a_session_by_a_stream_hears_of_them_and_catches_up_later() -> None:
    async with watched() as here:
        session = await here.session()
        async with here.stage.stream(here.boss, session.id) as stream:
            await here.change()
            with anyio.fail_after(5):
                told = [await stream.event(), await stream.event()]
        assert [event["type"] for event in told] == ["onNotification", "onTaskChange"]
        await here.change()  # nobody listens now
        async with here.stage.stream(here.boss, session.id, told[-1]["seq"]) as stream:
            with anyio.fail_after(5):
                late = [await stream.event(), await stream.event()]
        assert [event["seq"] for event in late] == [told[-1]["seq"] + 1, told[-1]["seq"] + 2]


@pytest.mark.parametrize("audience", ["task", "chat"])
async def test_a_notification_for_one_purpose_is_told_where_it_is_for(audience: Any) -> None:
    async with watched() as here:
        sessions = {purpose: await here.session(purpose) for purpose in ("task", "chat")}
        for session in sessions.values():
            await here.stage.post(here.boss, "openSession", sessionId=session.id)
        inbox, store = here.stage.runtime.services.use(INBOX), here.stage.runtime.store
        left: Any = {"agent_id": "below", "project_id": "p", "type": "message", "message": "m"}
        await store.write(lambda tx: inbox.put(tx, audience=audience, **left))
        streams = {row["stream"] for row in await store.all("select stream from events")}
        assert streams == {sessions[audience].id}


async def test_who_may_not_follow_a_session_leaves_no_mark_on_it() -> None:
    async with watched() as here:
        session, other = await here.session(), await here.stage.person("other")
        reply = await here.stage.post(other, "openSession", sessionId=session.id)
        assert reply["code"] == "session_not_found"
        answer = await here.stage.http.get(
            "/events", params={"session": session.id}, headers=other.headers
        )
        assert answer.status_code == 404
        await here.change()
        assert await here.stage.runtime.store.all("select 1 from events") == []
