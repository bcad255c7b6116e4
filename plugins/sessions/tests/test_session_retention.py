"""What is remembered of sessions, tokens and claims, and for how long."""

from pathlib import Path

from aipm_operations.api import SWEEPER
from aipm_sessions.plugin import ADMINISTRATION
from tests.session_runtime import session_runtime
from tests.test_work import MINE, ManualClock, delegating_team

from aipm_core import Event

DAY = 86_400.0


async def test_a_forgotten_session_takes_its_events_and_their_count_with_it() -> None:
    async with session_runtime(keep_days=2, idle_seconds=1e9, hard_seconds=1e9) as here:
        store, runtime = here.aipm.runtime.store, here.aipm.runtime
        sessions = []
        for purpose in ("task", "chat"):
            token = await here.token(purpose=purpose)
            session = await runtime.authenticate(token)
            assert session is not None
            sessions.append(session.id)
            await runtime.events.publish(Event(type="x", payload={}, session_id=session.id))
        assert await here.code("logout", token) is None
        here.watch.time += 3 * DAY
        await runtime.services.use(SWEEPER).sweep()
        for table in ("events", "event_streams"):
            rows = await store.all(f"select stream from {table} where stream <> ''")
            assert [row["stream"] for row in rows] == sessions[:1]


async def test_a_token_goes_only_long_after_it_has_run_out() -> None:
    async with session_runtime(keep_days=2, ui_token_days=10) as here:
        administration, store = (
            here.aipm.runtime.services.use(ADMINISTRATION),
            here.aipm.runtime.store,
        )
        await administration.add_agent(
            *("hana",), project_id="p", name="x", kind="human", role="manager", parent=None
        )
        await administration.add_token("hana")
        for days, left in ((11, 1), (2, 0)):
            here.watch.time += days * DAY
            await here.aipm.sweep()
            assert len(await store.all("select 1 from ui_tokens")) == left


async def test_a_claim_goes_a_day_after_it_has_run_out(tmp_path: Path) -> None:
    watch = ManualClock()
    async with delegating_team(tmp_path, watch) as (made, missing_sessions):
        assert len(await missing_sessions.wait(None, MINE, 0)) == 1
        watch.time += MINE.seconds
        for days, left in ((0.5, 1), (0.6, 0)):
            watch.time += days * DAY
            await made.aipm.sweep()
            assert len(await made.store.all("select 1 from work_claims")) == left
