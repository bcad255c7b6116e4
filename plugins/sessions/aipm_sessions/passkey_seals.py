"""Seals on passkeys: who holds one that was given out here does not queue with those who guess.

Checking a passkey is slow on purpose, so guesses queue. What may pass them must not depend on
whether an id exists (the wait would tell), nor on who was here before (after a restart nobody was).
It depends on the passkey: its last characters are a MAC of the others and of the agent's id, under
a key of this store. Nothing of a passkey is kept for that, and a seal opens nothing: behind it
argon2id decides as always. Whoever learns the key can jump the queue.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256

from aipm_core import PluginContext
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import new_secret, token_hash

_BYTES = 16
_LENGTH = 22  # characters: so many make 16 bytes in base64


class PasskeySeals:
    """Makes sealed passkeys and recognises them."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx
        self._key: bytes | None = None
        # Passkeys given out by versions without seals are known here from their first login on.
        self._fitted: dict[str, str] = {}

    async def passkey(self, agent_id: str) -> str:
        """Make a passkey for an agent."""
        secret = new_secret("aipm_pk_")
        return secret + await self._seal(agent_id, secret)

    async def intact(self, agent_id: str, passkey: str) -> bool:
        """Return whether a passkey was, as far as can be told at once, given to this agent."""
        secret, seal = passkey[:-_LENGTH], passkey[-_LENGTH:]
        sealed = _same(seal, await self._seal(agent_id, secret))
        return sealed | _same(token_hash(passkey), self._fitted.get(agent_id, ""))

    def remember(self, agent_id: str, passkey: str) -> None:
        """Note that a passkey fitted; until the program ends, and only as a hash."""
        self._fitted[agent_id] = token_hash(passkey)

    async def _seal(self, agent_id: str, secret: str) -> str:
        if self._key is None:
            rows = await self._ctx.store.all("select key from passkey_seal")
            self._key = rows[0]["key"].encode()
        said = f"{agent_id} {secret}".encode(errors="surrogatepass")
        return urlsafe_b64encode(hmac.digest(self._key, said, sha256)[:_BYTES])[:_LENGTH].decode()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="surrogatepass"), other.encode())
