"""Checks a passkey for whoever logs in, an agent or a person."""

from __future__ import annotations

from aipm_core import CallError, PluginContext
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import PasskeyChecker
from aipm_sessions.passkey_seals import PasskeySeals


class Passkeys:
    """The slow check, behind the line that a passkey's seal puts it in."""

    def __init__(
        self, ctx: PluginContext[SessionsConfig], checker: PasskeyChecker, seals: PasskeySeals
    ) -> None:
        self._ctx = ctx
        self._checker = checker
        self._seals = seals

    async def fits(self, agent_id: str, passkey: str, stored: str | None) -> bool:
        """Return whether a passkey fits what is stored; an agent that is not there has ``None``."""
        lines = [agent_id] if await self._seals.intact(agent_id, passkey) else []
        try:
            fits = await self._checker.fits(passkey, stored, *lines)
        except TimeoutError:
            text = self._ctx.texts("errors.logins_waiting")
            raise CallError(text, code="rate_limited", status=429) from None
        if fits:
            self._seals.remember(agent_id, passkey)
        return fits
