"""Passkeys and tokens: made random, kept only as hashes.

A passkey is checked with argon2id because it lives long and is typed by people and agents; a token
is 256 random bits, so one SHA-256 is enough (OWASP ASVS 6.5.2).
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from argon2 import PasswordHasher

# The prefix lets logs redact, and scanners find, what should not be where it is.
Prefix = Literal["aipm_pk_", "aipm_st_", "aipm_ui_", "aipm_at_"]
_GUESSES = ""  # the line of all who guess; an agent's id is never empty
_QUEUE_TIMEOUT_SECONDS = 20.0  # below the deadline of a call, so that the answer says what is wrong


def new_secret(prefix: Prefix) -> str:
    """Make a secret of 256 random bits."""
    return prefix + secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


# Of a passkey nobody has: what an unknown agent's passkey is checked against.
_NOBODY = (
    "$argon2id$v=19$m=19456,t=2,p=1$1L+vXhweoe23789DcIiLJA"
    "$5NtBrcZsfSnZqNJub4LPEG+CAE0YnojqAsrekPD5+dU"
)


class PasskeyChecker:
    """Checks passkeys off the event loop, two at a time: each takes 19 MiB.

    Always on the same two threads: the C library keeps what a thread has freed, so that every
    other thread that ever checked a passkey would cost another 19 MiB for good.

    Who waits for whom is decided by the passkey and never by whether an id exists, because a wait
    tells. Whoever shows a sealed passkey (``seals``) waits in the line of that agent; all who guess
    share one line, whomever they name. Each line has one check at a time. So a rightful login waits
    for the earlier ones of its own agent, for at most one of every other agent that logs in at
    this moment, and for one guess, however many guess: with 900 guessing, it used to take 25 s.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="aipm-passkey")
        self._lines = WeakValueDictionary[str, asyncio.Semaphore]()

    async def hash(self, passkey: str) -> str:
        """Return what is stored of a passkey."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _hasher().hash, passkey)

    async def fits(self, passkey: str, stored: str | None, line: str = _GUESSES) -> bool:
        """Check a passkey; raise ``TimeoutError`` if its line is too long to wait in.

        An unknown agent (``None``) costs the same time as a wrong passkey.
        """
        turn = self._lines.setdefault(line, asyncio.Semaphore(1))
        async with asyncio.timeout(_QUEUE_TIMEOUT_SECONDS):
            await turn.acquire()
        loop = asyncio.get_running_loop()
        check = loop.run_in_executor(self._threads, _fits, passkey, stored)
        # Not when the caller is gone but when the thread is free: those who hang up in the middle
        # of a check would otherwise pile up checks that nobody waits for.
        check.add_done_callback(lambda _: turn.release())
        return await asyncio.shield(check)


def _fits(passkey: str, stored: str | None) -> bool:
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        right = _hasher().verify(stored or _NOBODY, passkey)
    except (Argon2Error, InvalidHashError, UnicodeEncodeError):
        return False
    return right and stored is not None
