"""What a login rests on: the passkey that was checked is still the passkey when the door opens."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import anyio.to_thread
import pytest
from aipm_sessions.api import PEOPLE
from aipm_sessions.plugin import ADMINISTRATION
from argon2 import PasswordHasher
from tests.session_runtime import SessionRuntime, session_runtime

from aipm_core import Reply


class Held:
    """Keeps a checked passkey from being answered until it is let go."""

    def __init__(self) -> None:
        self.checked, self.let_go = threading.Event(), threading.Event()

    @contextmanager
    def around(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        really = PasswordHasher.verify

        def verify(hasher: PasswordHasher, *args: Any) -> bool:
            try:
                return really(hasher, *args)
            finally:
                self.checked.set()
                assert self.let_go.wait(60)

        with monkeypatch.context() as patched:
            patched.setattr(PasswordHasher, "verify", verify)
            try:
                yield
            finally:
                self.let_go.set()


async def logging_in_while(
    here: SessionRuntime, monkeypatch: pytest.MonkeyPatch, change: Callable[[], Awaitable[object]]
) -> Reply:
    """Log in with the right passkey; when it has been checked, change things, then go on."""
    held, replies = Held(), list[Reply]()

    async def log_in() -> None:
        replies.append(await here.log_in())

    with held.around(monkeypatch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log_in)
            await anyio.to_thread.run_sync(held.checked.wait)
            await change()
            held.let_go.set()
    return replies[0]


async def test_a_passkey_that_changed_while_it_was_checked_opens_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with session_runtime() as here:
        administration = here.aipm.runtime.services.use(ADMINISTRATION)
        reply = await logging_in_while(here, monkeypatch, lambda: administration.rekey("worker"))
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("invalid_credentials", 401)
        assert await here.aipm.runtime.store.all("select * from sessions") == []


async def test_who_left_the_project_while_the_passkey_was_checked_does_not_get_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with session_runtime() as here:
        store, sql = here.aipm.runtime.store, "delete from project_agents where agent_id = 'worker'"
        reply = await logging_in_while(
            here, monkeypatch, lambda: store.write(lambda tx: tx.run(sql))
        )
        assert reply.error is not None
        assert reply.error.code == "invalid_credentials"
        assert await here.aipm.runtime.store.all("select * from sessions") == []


async def test_a_new_passkey_of_a_person_ends_their_tokens_and_nobody_elses() -> None:
    async with session_runtime() as here:
        services = here.aipm.runtime.services
        administration, people = services.use(ADMINISTRATION), services.use(PEOPLE)
        tokens = {}
        for person in ("anna", "ben"):
            await administration.add_agent(
                person, project_id="p", name=person, kind="human", role="manager", parent=None
            )
            tokens[person] = (await administration.add_token(person))["token"]
        await administration.rekey("anna")
        assert await people.person_of(tokens["anna"]) is None
        assert await people.person_of(tokens["ben"]) is not None
        states = {token["agent_id"]: token["state"] for token in await administration.tokens()}
        assert states == {"anna": "revoked", "ben": "valid"}
