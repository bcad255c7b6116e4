"""Checking passkeys takes memory that a thread keeps: it must always be the same few threads."""

import threading
from functools import partial

import anyio
import anyio.to_thread
import pytest
from aipm_sessions import credentials


async def test_passkeys_are_checked_on_the_same_two_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on, really = set[int](), credentials._fits

    def noticing(passkey: str, stored: str | None) -> bool:
        on.add(threading.get_ident())
        return really(passkey, stored)

    monkeypatch.setattr(credentials, "_fits", noticing)
    checker, over = credentials.PasskeyChecker(), threading.Event()

    async def keep_a_thread_busy() -> None:
        await anyio.to_thread.run_sync(over.wait)

    async with anyio.create_task_group() as others:
        for _ in range(6):
            async with anyio.create_task_group() as checks:
                for _ in range(3):
                    checks.start_soon(partial(checker.fits, "wrong", None, stranger=False))
            others.start_soon(keep_a_thread_busy)
            await anyio.lowlevel.checkpoint()
        over.set()
    assert 1 <= len(on) <= 2


async def test_strangers_leave_a_thread_to_those_who_were_here_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, over = threading.Event(), threading.Event()

    def slow(passkey: str, stored: str | None) -> bool:
        if stored is None:
            begun.set()
            assert over.wait(60)
        return stored is not None

    monkeypatch.setattr(credentials, "_fits", slow)
    checker = credentials.PasskeyChecker()
    async with anyio.create_task_group() as guesses:
        for _ in range(5):
            guesses.start_soon(partial(checker.fits, "guess", None, stranger=True))
        await anyio.to_thread.run_sync(begun.wait)
        try:
            with anyio.fail_after(30):
                assert await checker.fits("right", "hash", stranger=False)
        finally:
            over.set()
