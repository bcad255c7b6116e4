"""Passkeys and tokens: made random, kept only as hashes.

A passkey is checked with argon2id because it lives long and is typed by people and agents; a token
is 256 random bits, so one SHA-256 is enough (OWASP ASVS 6.5.2).
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from argon2 import PasswordHasher

# The prefix lets logs redact, and scanners find, what should not be where it is.
Prefix = Literal["aipm_pk_", "aipm_st_", "aipm_ui_"]


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
    other thread that ever checked a passkey would cost another 19 MiB for good. Strangers share one
    of the two, so that however many guess, whoever has logged in before finds the other free.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="aipm-passkey")
        self._strangers = asyncio.Semaphore(1)

    async def hash(self, passkey: str) -> str:
        """Return what is stored of a passkey."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _hasher().hash, passkey)

    async def fits(self, passkey: str, stored: str | None, *, stranger: bool) -> bool:
        """Check a passkey. An unknown agent (``None``) costs the same time as a wrong passkey."""
        loop = asyncio.get_running_loop()
        async with self._strangers if stranger else nullcontext():
            return await loop.run_in_executor(self._threads, _fits, passkey, stored)


def _fits(passkey: str, stored: str | None) -> bool:
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        right = _hasher().verify(stored or _NOBODY, passkey)
    except (Argon2Error, InvalidHashError, UnicodeEncodeError):
        return False
    return right and stored is not None
