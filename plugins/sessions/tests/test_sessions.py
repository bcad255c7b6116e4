"""Who gets in, for how long, and what they may see."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_devkit.testing import running
from aipm_sessions.api import DIRECTORY, PEOPLE, SESSIONS, SessionObserver
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_sessions.session_store import SqlSessionStore
from tests.session_runtime import SessionRuntime, session_runtime

from aipm_core import CallError, Plugin, Session, Tx, hookimpl
from aipm_core.models import Purpose


async def test_authenticate_opens_a_session_that_works() -> None:
    async with session_runtime() as here:
        reply = await here.log_in(purpose="task")
        result = reply.result
        assert set(result) == {
            "session_token",
            "expires_in",
            "purpose",
            "agent_name",
            "instruction",
        }
        assert (result["purpose"], result["agent_name"]) == ("task", "Worker")
        assert result["expires_in"] == 3600
        assert "get_next_action" in result["instruction"]
        assert await here.code("logout", result["session_token"]) is None


async def test_without_a_purpose_it_is_chat() -> None:
    async with session_runtime() as here:
        assert (await here.log_in()).result["purpose"] == "chat"


async def test_one_answer_for_every_wrong_login() -> None:
    async with session_runtime() as here:
        wrong = [
            await here.log_in("worker", passkey="aipm_pk_guess"),
            await here.log_in("nobody"),
            await here.log_in("NOT AN ID"),
            await here.log_in("worker", project_id="other"),
            await here.log_in("boss", project_id="no-such"),
        ]
        assert len({reply.error for reply in wrong}) == 1
        assert wrong[0].error is not None
        assert (wrong[0].error.code, wrong[0].error.status) == ("invalid_credentials", 401)


async def test_the_sixth_failure_in_a_minute_is_rate_limited_even_with_the_right_passkey() -> None:
    async with session_runtime() as here:
        for _ in range(5):
            assert (await here.log_in("worker", passkey="x")).error.code == "invalid_credentials"  # type: ignore[union-attr]
        limited = await here.log_in("worker")
        assert limited.error is not None
        assert (limited.error.code, limited.error.status) == ("rate_limited", 429)
        assert (await here.log_in("boss")).error is None
        here.watch.time += 61
        assert (await here.log_in("worker")).error is None


async def test_a_clock_put_back_locks_nobody_out_for_long() -> None:
    async with session_runtime() as here:
        for _ in range(5):
            await here.log_in("worker", passkey="x")
        here.watch.time -= 86_400
        assert (await here.log_in("worker")).error is None


async def test_a_server_that_is_behind_forgets_no_failure_of_another() -> None:
    async with session_runtime() as here:
        for number in range(8):
            here.watch.time += 5 if number % 2 else -5
            await here.log_in("worker", passkey="x")
        limited = await here.log_in("worker")
        assert limited.error is not None
        assert limited.error.code == "rate_limited"


async def test_parallel_guesses_do_not_slip_past_the_limit() -> None:
    async with session_runtime() as here:
        codes: list[str] = []

        async def guess() -> None:
            reply = await here.log_in("worker", passkey="x")
            codes.append(reply.error.code if reply.error else "in")

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(guess)
        assert sorted(codes) == ["invalid_credentials"] * 5 + ["rate_limited"] * 15


async def test_successes_never_count_as_failures() -> None:
    async with session_runtime() as here:
        for _ in range(10):
            assert (await here.log_in()).error is None


async def test_use_keeps_a_session_alive_until_its_hard_end() -> None:
    async with session_runtime(idle_seconds=100, hard_seconds=250) as here:
        token = await here.token()
        for _ in range(4):
            here.watch.time += 60
            assert await here.code("help", token) is None
            session = await here.aipm.runtime.authenticate(token)
            assert session is not None
        here.watch.time += 60
        assert await here.aipm.runtime.authenticate(token) is None


async def test_an_idle_session_ends() -> None:
    async with session_runtime(idle_seconds=100) as here:
        token = await here.token()
        here.watch.time += 101
        assert await here.code("logout", token) == "session_invalid"


async def test_logout_ends_this_session_and_no_other() -> None:
    async with session_runtime() as here:
        task, chat = await here.token(purpose="task"), await here.token(purpose="chat")
        assert await here.code("logout", task) is None
        assert await here.code("logout", task) == "session_invalid"
        assert await here.aipm.runtime.authenticate(chat) is not None


async def test_sessions_survive_a_restart(tmp_path: Path) -> None:
    async with session_runtime(data_dir=tmp_path) as here:
        token = await here.token()
        watch = here.watch
    async with running(Sessions, data_dir=tmp_path, clock=watch) as aipm:
        session = await aipm.runtime.authenticate(token)
    assert session is not None
    assert (session.agent_id, session.project_id, session.purpose) == ("worker", "p", "task")


async def test_help_tells_what_this_caller_may_use_and_why_not() -> None:
    async with session_runtime() as here:
        tools = (await here.aipm.call("help", None)).result["tools"]
        available = {line["name"]: line["available"] for line in tools}
        assert available == {"authenticate": True, "help": True, "logout": False}
        assert "authenticate" in next(t["reason"] for t in tools if t["name"] == "logout")
        token = await here.token()
        reply = await here.aipm.call_with_token("help", token, tool_name="logout")
        assert reply.result["available"] is True
        assert reply.result["parameters"]["additionalProperties"] is False
        unknown = await here.aipm.call("help", None, tool_name="nothing")
        assert unknown.error is not None
        assert unknown.error.code == "invalid_arguments"


async def test_the_parent_chain_is_walked_and_a_circle_ends_it() -> None:
    async with session_runtime() as here:
        directory = here.aipm.runtime.services.use(DIRECTORY)
        store = here.aipm.runtime.store
        assert await directory.is_ancestor(store, "boss", "worker")
        assert not await directory.is_ancestor(store, "worker", "boss")
        assert not await directory.is_ancestor(store, "worker", "worker")
        await store.write(
            lambda tx: tx.run("update agents set parent_id = 'worker' where id = 'boss'")
        )
        assert not await directory.is_ancestor(store, "nobody", "worker")


async def test_peoples_tokens_work_until_revoked_or_expired() -> None:
    async with session_runtime(ui_token_days=1) as here:
        services = here.aipm.runtime.services
        administration, people = services.use(ADMINISTRATION), services.use(PEOPLE)
        await administration.add_agent(
            "anna", project_id="p", name="Anna", kind="human", role="manager", parent=None
        )
        first, second = (
            await administration.add_token("anna"),
            await administration.add_token("anna"),
        )
        person = await people.person_of(first["token"])
        assert person is not None
        assert (person.id, person.kind) == ("anna", "human")
        await administration.revoke_token(first["id"])
        assert await people.person_of(first["token"]) is None
        assert await people.person_of(second["token"]) is not None
        here.watch.time += 86_401
        assert await people.person_of(second["token"]) is None
        with pytest.raises(CallError, match="人ではありません"):
            await administration.add_token("worker")
        assert await here.code("logout", second["token"]) == "session_invalid"


async def test_ended_sessions_are_told_to_observers_with_their_reason() -> None:
    ended: list[tuple[str, str]] = []

    class Watcher(Plugin):
        @hookimpl
        def aipm_session_observers(self) -> Iterable[SessionObserver]:
            yield SessionObserver(
                name="watcher",
                purpose_for=self.purpose_for,
                opened=self.opened,
                closed=self.closed,
            )

        async def purpose_for(self, tx: Tx, agent_id: str, project_id: str) -> Purpose | None:
            return "task"

        async def opened(self, tx: Tx, session: Session) -> dict[str, Any]:
            return {"task_id": "tsk_1"}

        async def closed(self, tx: Tx, session: Session, reason: str) -> None:
            ended.append((session.agent_id, reason))

    async with session_runtime(Watcher, idle_seconds=0.4) as here:
        reply = await here.log_in()
        assert (reply.result["purpose"], reply.result["task_id"]) == ("task", "tsk_1")
        await here.code("logout", reply.result["session_token"])
        await here.log_in("boss")
        here.watch.time += 1
        with anyio.fail_after(5):
            await here.aipm.runtime.store.wait_until(("sessions:p",), lambda: _when(ended, 2), 5)
    assert ended == [("worker", "logout"), ("boss", "expired")]


async def _when(ended: list[tuple[str, str]], count: int) -> bool | None:
    return True if len(ended) >= count else None


async def test_a_new_passkey_ends_the_old_one_and_its_sessions() -> None:
    async with session_runtime() as here:
        token = await here.token()
        old = here.passkeys["worker"]
        here.passkeys["worker"] = await here.aipm.runtime.services.use(ADMINISTRATION).rekey(
            "worker"
        )
        assert await here.code("logout", token) == "session_invalid"
        refused = await here.log_in(passkey=old)
        assert refused.error is not None
        assert refused.error.code == "invalid_credentials"
        assert (await here.log_in()).error is None
        with pytest.raises(CallError, match="no agent 'nobody'"):
            await here.aipm.runtime.services.use(ADMINISTRATION).rekey("nobody")


async def test_a_session_whose_work_is_done_may_only_log_out() -> None:
    async with session_runtime() as here:
        token = await here.token()
        session = await here.aipm.runtime.authenticate(token)
        assert session is not None
        sessions = here.aipm.runtime.services.use(SESSIONS)
        await here.aipm.runtime.store.write(lambda tx: sessions.close(tx, session.id, "completed"))
        assert await here.code("logout", token) is None
        assert await sessions.live(here.aipm.runtime.store) == []
        lines = (await here.aipm.call_with_token("help", token)).result["tools"]
        assert {line["name"]: line["available"] for line in lines}["logout"]
        here.watch.time += 61
        assert await here.code("logout", token) == "session_invalid"


def swept(here: SessionRuntime) -> SqlSessionStore:
    sessions = here.aipm.runtime.services.use(SESSIONS)
    assert isinstance(sessions, SqlSessionStore)
    return sessions


async def test_the_sweeper_spares_a_session_that_has_just_been_seen() -> None:
    async with session_runtime(idle_seconds=100) as here:
        busy, idle = await here.token(purpose="task"), await here.token(purpose="chat")
        session = await here.aipm.runtime.authenticate(busy)
        assert session is not None
        here.watch.time += 101
        sessions = swept(here)
        sessions.seen(session.id)  # a long poll that goes on; not written yet
        await sessions._sweep()
        assert await here.aipm.runtime.authenticate(busy) is not None
        assert await here.aipm.runtime.authenticate(idle) is None
        assert [info.session.id for info in await sessions.live(here.aipm.runtime.store)] == [
            session.id
        ]


async def test_sessions_that_ended_long_ago_are_forgotten() -> None:
    async with session_runtime(
        keep_days=2, idle_seconds=10 * 86_400, hard_seconds=10 * 86_400
    ) as here:
        ended, kept = await here.token(purpose="task"), await here.token(purpose="chat")
        assert await here.code("logout", ended) is None
        store = here.aipm.runtime.store
        for days, left in ((1, 2), (2, 1)):
            here.watch.time += days * 86_400
            await here.aipm.sweep()
            row = await store.one("select count(*) as n from sessions")
            assert row is not None
            assert row["n"] == left
        assert await here.aipm.runtime.authenticate(kept) is not None
