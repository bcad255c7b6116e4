"""Who is checked when: counted at the library that checks, with real hashes."""

import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from aipm_devkit.testing import running
from aipm_sessions.credentials import PasskeyChecker
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from argon2 import PasswordHasher, extract_parameters
from tests.session_runtime import SessionRuntime, session_runtime

GUESSES = 900


class Checks:
    """Every verification by argon2: of what, with which parameters; some are held up."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.parameters: list[Any] = []
        self.most_at_once = 0
        self.held: set[str] = set()
        self.let_go = threading.Event()
        self._running = 0

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        really = PasswordHasher.verify

        def verify(hasher: PasswordHasher, stored: str, passkey: str) -> bool:
            self.begun.append(passkey)
            self.parameters.append(extract_parameters(stored))
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
            try:
                if passkey in self.held:
                    assert self.let_go.wait(60)
                return really(hasher, stored, passkey)
            finally:
                self._running -= 1

        monkeypatch.setattr(PasswordHasher, "verify", verify)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Checks]:
    made = Checks()
    made.patch(monkeypatch)
    yield made
    made.let_go.set()


async def noted(here: SessionRuntime, count: int) -> None:
    """Wait until that many attempts are on their way, the first of them being checked."""
    store = here.aipm.runtime.store
    with anyio.fail_after(60):
        while len(await store.all("select 1 from login_attempts")) < count:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    await anyio.wait_all_tasks_blocked()


@asynccontextmanager
async def guessing(
    here: SessionRuntime, checks: Checks, count: int = GUESSES
) -> AsyncGenerator[None]:
    """Let many guess at ids nobody has; none of them is answered while the block runs."""
    checks.held.add("guess")
    async with anyio.create_task_group() as guesses:
        for number in range(count):
            guesses.start_soon(partial(here.log_in, f"ghost-{number}", passkey="guess"))
        await noted(here, count)
        yield
        guesses.cancel_scope.cancel()


async def test_a_first_login_after_a_restart_waits_for_no_guess(
    checks: Checks, tmp_path: Path
) -> None:
    async with session_runtime(data_dir=tmp_path) as before:
        passkeys = before.passkeys
    async with running(Sessions, data_dir=tmp_path) as aipm:
        here = SessionRuntime(aipm, before.watch)
        here.passkeys = passkeys
        async with guessing(here, checks):
            with anyio.fail_after(30):
                assert (await here.log_in("worker")).error is None
                assert (await here.log_in("boss")).error is None
    assert checks.begun == ["guess", passkeys["worker"], passkeys["boss"]]


async def test_a_new_passkey_waits_for_no_guess(checks: Checks) -> None:
    async with session_runtime() as here:
        passkey = await here.aipm.runtime.services.use(ADMINISTRATION).rekey("worker")
        async with guessing(here, checks, 20):
            with anyio.fail_after(30):
                assert (await here.log_in("worker", passkey=passkey)).error is None
    assert checks.begun == ["guess", passkey]


async def test_a_passkey_of_somebody_else_is_a_guess(checks: Checks) -> None:
    async with session_runtime() as here:
        stolen = here.passkeys["boss"]
        async with guessing(here, checks, 20), anyio.create_task_group() as more:
            for name in ("worker", "nobody"):
                more.start_soon(partial(here.log_in, name, passkey=stolen))
            await noted(here, 22)
            assert checks.begun == ["guess"]
            more.cancel_scope.cancel()


async def test_wrong_passkeys_wait_in_one_line_whomever_they_name(checks: Checks) -> None:
    names = ["boss", "nobody", "worker", "NOT AN ID", "foreign", "ghost"]
    async with session_runtime() as here:
        await here.log_in("boss")  # has been here before
        checks.begun.clear()
        checks.held.add("first")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(here.log_in, "first", passkey="first"))
            await noted(here, 1)
            for number, name in enumerate(names):
                more = {"project_id": "other"} if name == "foreign" else {}
                agent = "worker" if name == "foreign" else name
                tasks.start_soon(partial(here.log_in, agent, passkey=name, **more))
                await noted(here, number + 2)
            checks.let_go.set()
    assert checks.begun == ["first", *names]
    assert checks.most_at_once == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent_id": "worker"},
        {"agent_id": "nobody"},
        {"agent_id": "NOT AN ID"},
        {"agent_id": "worker", "project_id": "other"},
        {"agent_id": "worker", "project_id": "no-such"},
    ],
    ids=str,
)
async def test_every_wrong_login_costs_one_verification_of_the_same_kind(
    checks: Checks, wrong: dict[str, str]
) -> None:
    """Equal timing, by counting the only slow step instead of measuring time."""
    async with session_runtime() as here:
        assert (await here.log_in("worker")).error is None
        reply = await here.log_in(**{"agent": "", "passkey": "x", **wrong})
        assert reply.error is not None
        assert reply.error.code == "invalid_credentials"
    assert checks.begun == [here.passkeys["worker"], "x"]
    assert checks.parameters[0] == checks.parameters[1]


async def test_the_right_passkey_in_a_foreign_project_costs_one_verification(
    checks: Checks,
) -> None:
    async with session_runtime() as here:
        reply = await here.log_in("worker", project_id="other")
        assert reply.error is not None
        assert reply.error.code == "invalid_credentials"
        assert checks.begun == [here.passkeys["worker"]]


async def test_an_agent_that_logs_in_without_end_holds_up_nobody_else(checks: Checks) -> None:
    async with session_runtime() as here:
        own = here.passkeys["worker"]
        checks.held.add(own)
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(here.log_in, "worker")
            await noted(here, 5)
            with anyio.fail_after(30):
                assert (await here.log_in("boss")).error is None
            assert checks.begun == [own, here.passkeys["boss"]]
            checks.let_go.set()
    assert checks.begun.count(own) == 5


async def test_a_passkey_made_before_passkeys_were_sealed_is_known_once_it_fitted(
    checks: Checks,
) -> None:
    async with session_runtime() as here:
        old, sql = "aipm_pk_" + "o" * 43, "update agents set passkey_hash = ? where id = 'worker'"
        stored = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1).hash(old)
        await here.aipm.runtime.store.write(lambda tx: tx.run(sql, stored))
        assert (await here.log_in("worker", passkey=old)).error is None
        async with guessing(here, checks, 20):
            with anyio.fail_after(30):
                assert (await here.log_in("worker", passkey=old)).error is None
    assert checks.begun == [old, "guess", old]


async def test_a_guess_nobody_waits_for_any_more_still_holds_its_place(checks: Checks) -> None:
    """Or guessers who hang up would fill the threads with checks nobody waits for."""
    checker = PasskeyChecker()
    checks.held.add("left")
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as leaving:
            async with anyio.create_task_group() as gone:
                gone.start_soon(checker.fits, "left", None)
                await anyio.wait_all_tasks_blocked()
                leaving.cancel()
        tasks.start_soon(checker.fits, "next", None)
        await anyio.wait_all_tasks_blocked()
        assert checks.begun == ["left"]
        checks.let_go.set()
    assert checks.begun == ["left", "next"]


async def test_passkeys_are_checked_on_the_same_two_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Checking takes memory that a thread keeps."""
    on, really = set[int](), PasswordHasher.verify

    def noticing(hasher: PasswordHasher, *args: Any) -> bool:
        on.add(threading.get_ident())
        return really(hasher, *args)

    monkeypatch.setattr(PasswordHasher, "verify", noticing)
    checker, over = PasskeyChecker(), threading.Event()

    async def keep_a_thread_busy() -> None:
        await anyio.to_thread.run_sync(over.wait)

    async with anyio.create_task_group() as others:
        for _ in range(6):
            async with anyio.create_task_group() as checked:
                for number in range(3):
                    checked.start_soon(checker.fits, "wrong", None, f"agent-{number}")
            others.start_soon(keep_a_thread_busy)
            await anyio.lowlevel.checkpoint()
        over.set()
    assert 1 <= len(on) <= 2


async def test_a_line_too_long_to_wait_in_is_told_so(
    checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session_runtime() as here:
        async with guessing(here, checks, 1):
            monkeypatch.setattr("aipm_sessions.credentials._QUEUE_TIMEOUT_SECONDS", 0)
            replies = [await here.log_in(name, passkey="x") for name in ("worker", "nobody")]
        assert len({reply.error for reply in replies}) == 1
        assert replies[0].error is not None
        assert (replies[0].error.code, replies[0].error.status) == ("rate_limited", 429)
        checks.let_go.set()
        assert (await here.log_in("worker")).error is None
    assert checks.begun == ["guess", here.passkeys["worker"]]
