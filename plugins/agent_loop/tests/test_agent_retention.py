"""A conversation is kept while its session lives, and for a while after that."""

from __future__ import annotations

from pathlib import Path

from aipm_agent_loop.testing import PersonSession, script, talking
from aipm_operations.api import SWEEPER
from aipm_ui_gateway.api import UI_SESSIONS

DAY = 86_400.0
TABLES = ("agent_threads", "agent_runs", "agent_messages", "agent_calls", "agent_inputs")


class Watch:
    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


async def rows(talk: PersonSession) -> list[int]:
    store = talk.stage.runtime.store
    found = [await store.all(f"select count(*) as n from {table}") for table in TABLES]
    return [row[0]["n"] for row in found]


async def test_a_conversation_outlives_its_session_by_its_time(tmp_path: Path) -> None:
    watch = Watch()
    calls = script(tmp_path, [{"tool": "file:list", "args": {"path": "."}}, {"text": "done"}])
    loop = {**calls, "keep_days": 10, "keep_inputs_days": 2}
    async with talking(tmp_path, clock=watch, agent_loop=loop) as talk:
        sweeper = talk.stage.runtime.services.use(SWEEPER)
        await talk.ask("hello")
        full = await rows(talk)
        assert full == [1, 1, 3, 1, 1]
        watch.now += DAY
        await sweeper.sweep("agent_inputs", "agent_threads")
        assert await rows(talk) == full
        watch.now += 20 * DAY
        await sweeper.sweep("agent_inputs", "agent_threads")
        assert await rows(talk) == [*full[:-1], 0]
        sessions = talk.stage.runtime.services.use(UI_SESSIONS)
        await talk.stage.runtime.store.write(lambda tx: sessions.close(tx, talk.session))
        await sweeper.sweep("agent_threads")
        assert await rows(talk) == [0] * len(TABLES)


async def test_a_young_conversation_stays_though_its_session_is_over(tmp_path: Path) -> None:
    watch = Watch()
    async with talking(tmp_path, clock=watch, agent_loop={"keep_days": 10}) as talk:
        await talk.ask("hello")
        sessions = talk.stage.runtime.services.use(UI_SESSIONS)
        await talk.stage.runtime.store.write(lambda tx: sessions.close(tx, talk.session))
        full = await rows(talk)
        watch.now += 9 * DAY
        await talk.stage.runtime.services.use(SWEEPER).sweep("agent_threads")
        assert await rows(talk) == full


async def test_a_session_with_something_to_do_neither_ends_nor_is_forgotten(
    tmp_path: Path,
) -> None:
    watch = Watch()
    loop = script(tmp_path, [{"wait_ms": 600_000}, {"text": "late"}])
    async with talking(tmp_path, clock=watch, agent_loop=loop) as talk:
        stage, store = talk.stage, talk.stage.runtime.store
        session = await stage.open(talk.person)
        for text in ("begin", "and then"):
            ack = await stage.post(talk.person, "submitUserInput", sessionId=session, text=text)
            assert ack["type"] == "ack", ack

        async def begun() -> bool | None:
            return (
                bool(await store.all("select 1 from agent_runs where status = 'running'")) or None
            )

        assert await store.wait_until(("events",), begun, 30)
        full = await rows(talk)
        for _ in range(3):
            watch.now += 100 * DAY
            await stage.runtime.services.use(SWEEPER).sweep("agent_threads", "idle ui_sessions")
        assert await rows(talk) == full
        sessions = stage.runtime.services.use(UI_SESSIONS)
        assert await sessions.find(store, session) is not None
