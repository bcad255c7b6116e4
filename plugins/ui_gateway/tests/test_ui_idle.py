"""A session that nobody uses ends, and is forgotten after a while."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aipm_operations.api import SWEEPER
from aipm_ui_gateway.api import UI_SESSIONS, BusyCheck, UiSession, UiSessionObserver
from aipm_ui_gateway.testing import Person, ServedTeam, served

from aipm_core import Event, Plugin, Reader, Tx, hookimpl
from aipm_core.plugin import PluginClass

HOUR, DAY = 3600.0, 86_400.0


class Place:
    """A served gateway, a person in it, and a clock to move."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0
        self.stage: ServedTeam
        self.ann: Person

    async def sweep(self, hours: float) -> None:
        self.now += hours * HOUR
        await self.stage.runtime.services.use(SWEEPER).sweep()

    async def reached(self, session: str) -> str | None:
        """Try to come back to a session."""
        return (await self.stage.post(self.ann, "openSession", sessionId=session)).get("code")

    async def is_open(self, session: str) -> bool:
        sessions = self.stage.runtime.services.use(UI_SESSIONS)
        return await sessions.find(self.stage.runtime.store, session) is not None

    async def rows(self, table: str) -> int:
        (row,) = await self.stage.runtime.store.all(f"select count(*) as n from {table}")
        return int(row["n"])


@asynccontextmanager
async def place(data_dir: Path, *plugins: PluginClass, **settings: float) -> AsyncGenerator[Place]:
    made = Place()
    chosen = {"clock": lambda: made.now, "ui_gateway": settings}
    async with served(*plugins, data_dir=data_dir, **chosen) as stage:
        made.stage = stage
        await stage.project()
        # A token lives for thirty days.
        made.ann = await stage.person("ann")
        yield made


async def test_an_unused_session_ends_and_cannot_be_reached_any_more(tmp_path: Path) -> None:
    async with place(tmp_path, session_idle_hours=10) as here:
        left, used = await here.stage.open(here.ann), await here.stage.open(here.ann)
        await here.sweep(9)
        assert await here.reached(used) is None
        await here.sweep(1)
        assert [await here.is_open(session) for session in (left, used)] == [True, True]
        await here.sweep(1)
        assert await here.reached(left) == "session_not_found"
        assert await here.reached(used) is None


async def test_who_follows_a_session_keeps_it(tmp_path: Path) -> None:
    async with place(tmp_path, session_idle_hours=10) as here:
        session = await here.stage.open(here.ann)
        async with here.stage.stream(here.ann, session) as stream:
            await here.sweep(100)
            await here.stage.publish(Event(type="onNoise", payload={}, session_id=session))
            assert (await stream.event())["type"] == "onNoise"
        await here.sweep(9)
        assert await here.is_open(session)


async def test_a_session_in_which_something_runs_does_not_end(tmp_path: Path) -> None:
    busy: set[str] = set()

    class Work(Plugin):
        @hookimpl
        def aipm_ui_busy_checks(self) -> Iterable[BusyCheck]:
            yield BusyCheck(name="work", check=self.check)

        async def check(self, db: Reader, session_id: str) -> bool:
            return session_id in busy

    async with place(tmp_path, Work, session_idle_hours=10) as here:
        session = await here.stage.open(here.ann)
        busy.add(session)
        await here.sweep(11)
        await here.sweep(11)
        assert await here.is_open(session)
        busy.clear()
        await here.sweep(11)
        assert not await here.is_open(session)


async def test_observers_hear_what_they_asked_for(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []

    class Diary(Plugin):
        @hookimpl
        def aipm_ui_session_observers(self) -> Iterable[UiSessionObserver]:
            yield UiSessionObserver(name="deaf")
            yield UiSessionObserver(name="diary", opened=self.opened, closed=self.closed)

        async def opened(self, tx: Tx, session: UiSession) -> None:
            told.append(("opened", session.id))

        async def closed(self, tx: Tx, session: UiSession) -> None:
            told.append(("closed", session.id))

    async with place(tmp_path, Diary, session_idle_hours=10) as here:
        session = await here.stage.open(here.ann)
        await here.sweep(11)
        await here.sweep(11)
        assert not await here.is_open(session)
    assert told == [("opened", session), ("closed", session)]


async def test_a_session_from_before_uses_were_counted_has_its_time_too(tmp_path: Path) -> None:
    async with place(tmp_path, session_idle_hours=10) as here:
        session = await here.stage.open(here.ann)
        await here.stage.runtime.store.write(
            lambda tx: tx.run("update ui_sessions set last_used = 0")
        )
        await here.sweep(0)
        assert await here.is_open(session)


@pytest.mark.parametrize("days", [1, 3])
async def test_an_ended_session_is_forgotten_with_all_its_events(tmp_path: Path, days: int) -> None:
    async with place(tmp_path, keep_sessions_days=2) as here:
        session, other = await here.stage.open(here.ann), await here.stage.open(here.ann)
        for one in (session, other):
            await here.stage.publish(Event(type="onNoise", payload={}, session_id=one))
        assert (await here.stage.post(here.ann, "closeSession", sessionId=session))["type"] == "ack"
        await here.sweep(days * 24)
        left = 1 if days > 2 else 2
        assert await here.rows("ui_sessions") == left
        assert await here.rows("events where type = 'onNoise'") == left
        assert await here.rows("event_streams where stream <> ''") == left
        assert await here.reached(other) is None
