"""How many sessions an agent may have at once, and what the one learns that had to go."""

from collections.abc import Iterable

import pytest
from aipm_sessions.api import SESSIONS, SessionObserver
from tests.session_runtime import SessionRuntime, session_runtime

from aipm_core import Plugin, Session, SessionInvalid, Tx, hookimpl


async def open_ones(here: SessionRuntime) -> list[str]:
    rows = await here.aipm.runtime.store.all("select id from sessions where ended_at is null")
    return [row["id"] for row in rows]


async def logged_in(here: SessionRuntime, agent: str = "worker", purpose: str = "task") -> str:
    here.watch.time += 1
    return await here.token(agent, purpose)


async def test_a_login_beyond_the_limit_ends_the_oldest_session_and_no_other() -> None:
    async with session_runtime(max_sessions=3) as here:
        of_boss, chat = await logged_in(here, "boss"), await logged_in(here, purpose="chat")
        tokens = [await logged_in(here) for _ in range(4)]
        codes = [await here.code("help", token) for token in tokens]
        assert codes == [None] * 4  # a bad token closes nothing that needs none
        known = [await here.aipm.runtime.authenticate(t) for t in (*tokens, of_boss, chat)]
        assert [session is not None for session in known] == [False, *[True] * 5]
        row = await here.aipm.runtime.store.one(
            "select end_reason from sessions where ended_at is not null"
        )
        assert row is not None
        assert row["end_reason"] == "replaced"


async def test_who_was_replaced_is_told_so_and_may_log_in_again() -> None:
    async with session_runtime(max_sessions=1) as here:
        first = await logged_in(here)
        await logged_in(here)
        reply = await here.aipm.call_with_token("logout", first)
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("session_invalid", 401)
        assert reply.error.message == (
            "このセッションは、同じエージェントの新しいログインに置き換えられて終了しました"
            "(同時に開けるのは目的ごとに1件です)。続けるには authenticate を呼び出してください。"
        )
        here.watch.time += 1
        again = {"agent_id": "worker", "passkey": here.passkeys["worker"], "project_id": "p"}
        assert (await here.aipm.call_with_token("authenticate", first, **again)).error is None


async def test_a_call_that_outlived_a_replaced_session_is_told_so() -> None:
    async with session_runtime(max_sessions=1) as here:
        sessions, runtime = here.aipm.runtime.services.use(SESSIONS), here.aipm.runtime
        session = await runtime.authenticate(await logged_in(here))
        assert session is not None
        await logged_in(here)
        with pytest.raises(SessionInvalid, match="新しいログイン"):
            await runtime.store.write(lambda tx: sessions.check_open(tx, session))


async def test_the_end_of_a_replaced_session_is_told_to_observers() -> None:
    ended: list[str] = []

    class Watcher(Plugin):
        @hookimpl
        def aipm_session_observers(self) -> Iterable[SessionObserver]:
            yield SessionObserver(name="watcher", closed=self.closed)

        async def closed(self, tx: Tx, session: Session, reason: str) -> None:
            ended.append(reason)

    async with session_runtime(Watcher, max_sessions=2) as here:
        for _ in range(4):
            await logged_in(here)
        assert ended == ["replaced", "replaced"]
        assert len(await open_ones(here)) == 2


async def test_thirty_two_of_a_purpose_are_plenty_unless_somebody_says_otherwise() -> None:
    async with session_runtime() as here:
        for _ in range(34):
            await logged_in(here)
        assert len(await open_ones(here)) == 32


async def test_what_has_expired_is_not_called_replaced() -> None:
    async with session_runtime(max_sessions=1, idle_seconds=1000) as here:
        await logged_in(here)
        here.watch.time += 1001
        await logged_in(here)
        rows = await here.aipm.runtime.store.all("select end_reason from sessions")
        assert {row["end_reason"] for row in rows} == {"expired", None}
