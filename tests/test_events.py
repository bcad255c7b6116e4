"""Events reach the session they belong to, and nobody else."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import anyio
import pytest
from aipm_devkit.testing import TestRuntime, running

from aipm_core import Event, EventSink, Plugin, StoredEvent, TooOld, hookimpl


async def received(aipm: TestRuntime, session: str, count: int, after: int) -> list[StoredEvent]:
    found: list[StoredEvent] = []
    with anyio.fail_after(5):
        async for event in aipm.runtime.follow(session, after):
            found.append(event)
            if len(found) == count:
                break
    return found


async def publish(aipm: TestRuntime, *events: Event) -> None:
    for event in events:
        await aipm.runtime.events.publish(event)


def news(name: str) -> Event:
    return Event(type=name, payload={}, system=True)


def own(session: str, name: str) -> Event:
    return Event(type=name, payload={"of": session}, session_id=session)


@pytest.mark.parametrize("scope", [{}, {"session_id": "a", "system": True}, {"session_id": None}])
def test_an_event_of_neither_or_both_kinds_cannot_be_made(scope: dict[str, bool]) -> None:
    with pytest.raises(ValueError, match="needs a session_id"):
        Event(type="x", payload={}, **scope)  # type: ignore[arg-type]


async def test_a_session_sees_its_own_events_and_system_news_only() -> None:
    async with running() as aipm:
        follower = aipm.runtime.follow("b")
        first = None

        async def follow() -> None:
            nonlocal first
            first = await anext(aiter(follower))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            await publish(aipm, own("a", "secret"), news("hello"))
        assert first is not None
        assert (first.type, first.scope) == ("hello", "system")
        await follower.aclose()


async def test_sequence_counts_per_session_and_replays_from_a_place() -> None:
    async with running() as aipm:
        for number in range(5):
            await publish(aipm, own("a", f"a{number}"), own("b", f"b{number}"))
        seen = await received(aipm, "a", 3, after=2)
        assert [(event.seq, event.type) for event in seen] == [(3, "a2"), (4, "a3"), (5, "a4")]


async def test_events_survive_and_are_numbered_on_after_a_restart(tmp_path: Path) -> None:
    for _ in range(3):
        async with running(data_dir=tmp_path) as aipm:
            await publish(aipm, own("a", "x"))
    async with running(data_dir=tmp_path) as aipm:
        assert [event.seq for event in await received(aipm, "a", 3, after=0)] == [1, 2, 3]


async def test_events_of_another_process_arrive(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as one, running(data_dir=tmp_path) as other:
        await publish(other, own("a", "x"))
        assert (await received(one, "a", 1, after=0))[0].type == "x"


async def test_a_place_that_was_swept_away_is_told() -> None:
    async with running() as aipm:
        for _ in range(5):
            await publish(aipm, own("a", "x"))
        await aipm.runtime.store.write(
            lambda tx: tx.run("delete from events where stream = 'a' and seq <= 3")
        )
        assert [e.seq for e in await received(aipm, "a", 2, after=3)] == [4, 5]
        for place in (0, 2, 6):
            with pytest.raises(TooOld):
                await received(aipm, "a", 1, after=place)


async def test_a_port_is_always_bound_to_a_session() -> None:
    async with running() as aipm:
        with pytest.raises(ValueError, match="bound to a session"):
            await received(aipm, "", 1, after=0)


class Watcher(Plugin):
    """Two sinks: one breaks, the other must not notice."""

    @hookimpl
    def aipm_event_sinks(self) -> Iterable[EventSink]:
        yield EventSink(name="broken", send=self._break)
        yield EventSink(name="slow", send=self._hang, deadline=30)
        yield EventSink(name="good", send=self._keep)

    async def _break(self, event: Event) -> None:
        raise RuntimeError("broken")

    async def _hang(self, event: Event) -> None:
        await anyio.sleep_forever()

    async def _keep(self, event: Event) -> None:
        if event.session_id != "kept":
            await self.ctx.events.publish(own("kept", event.type))


async def test_sinks_see_everything_and_break_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Watcher) as aipm:
        await publish(aipm, own("a", "one"), news("two"))
        seen = await received(aipm, "kept", 2, after=0)
    assert [event.type for event in seen if event.scope == "session"] == ["one", "two"]
    assert "plugin watcher: event sink broken failed at evt_1" in caplog.text


async def test_sinks_are_shown_nothing_more_when_the_program_stops() -> None:
    class Keeper(Watcher):
        @hookimpl
        def aipm_event_sinks(self) -> Iterable[EventSink]:
            yield EventSink(name="good", send=self._keep)

    async with running(Keeper) as aipm:
        await publish(aipm, own("a", "before"))
        await received(aipm, "kept", 1, after=0)
        await anyio.wait_all_tasks_blocked()
        aipm.runtime.engine.end_waits()
        await anyio.wait_all_tasks_blocked()
        await publish(aipm, own("a", "after"))
        await anyio.wait_all_tasks_blocked()
        kept = await aipm.runtime.events.kept("kept", "before", "after")
    assert [event.type for event in kept] == ["before"]


async def swept(aipm: TestRuntime, *, before: float, keep: int) -> int:
    return await aipm.runtime.store.write(lambda tx: aipm.runtime.events.forget(tx, before, keep))


async def test_a_reader_that_was_overtaken_by_the_sweeper_is_told() -> None:
    async with running() as aipm:
        for _ in range(3):
            await publish(aipm, own("a", "x"))
        reader = aiter(aipm.runtime.follow("a", 0))
        assert (await anext(reader)).seq == 1
        for _ in range(500):
            await publish(aipm, own("a", "x"))
        while await swept(aipm, before=0, keep=2):
            pass
        with pytest.raises(TooOld):
            [event async for event in reader]


async def test_the_sweeper_keeps_what_it_is_told_to_keep() -> None:
    now = 1_000_000.0
    async with running(clock=lambda: now) as aipm:
        await publish(aipm, own("a", "old"), own("b", "old"), news("old"))
        now += 100
        await publish(aipm, *(own("a", "new") for _ in range(5)))
        assert await swept(aipm, before=now - 50, keep=1000) == 3
        assert await swept(aipm, before=now - 50, keep=3) == 2
        assert [e.seq for e in await received(aipm, "a", 3, after=3)] == [4, 5, 6]


async def test_followers_end_when_the_program_stops() -> None:
    async with running() as aipm:
        await publish(aipm, own("a", "x"))
        seen: list[str] = []

        async def follow(events: AsyncIterator[StoredEvent]) -> None:
            seen.extend([event.type async for event in events])

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, aipm.runtime.follow("a", 0))
                tasks.start_soon(follow, aipm.runtime.news())
                await anyio.wait_all_tasks_blocked()
                await publish(aipm, news("bye"))
                aipm.runtime.engine.end_waits()
        assert sorted(seen) == ["bye", "bye", "x"]


async def test_what_a_session_still_has_of_some_types() -> None:
    async with running() as aipm:
        await publish(aipm, own("a", "x"), own("a", "y"), own("b", "x"), own("a", "z"))
        kept = await aipm.runtime.events.kept("a", "x", "z")
        assert [(event.seq, event.type) for event in kept] == [(1, "x"), (3, "z")]
