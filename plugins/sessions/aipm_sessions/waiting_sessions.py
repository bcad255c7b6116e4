"""Who waits for something to do: told to those who want to know, when it takes a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress

import anyio

from aipm_core import Session
from aipm_sessions.api import SessionObserver

SEEN_SECONDS = 1.0


@asynccontextmanager
async def seen_waiting(
    session: Session, observers: Iterable[SessionObserver]
) -> AsyncGenerator[None]:
    """Tell observers that a session waits, if the block takes long, and that it waits no more."""
    tellers = [one.waiting for one in observers if one.waiting is not None]
    if not tellers:
        yield
        return
    told = False

    async def tell() -> None:
        nonlocal told
        await asyncio.sleep(SEEN_SECONDS)
        told = True
        for teller in tellers:
            await teller(session, True)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            if not told:
                telling.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await telling
            for teller in tellers if told else ():
                with suppress(Exception):
                    await teller(session, False)
