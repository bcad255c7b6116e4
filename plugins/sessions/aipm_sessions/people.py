"""Recognises the tokens of people's user interfaces."""

from __future__ import annotations

from aipm_core import PluginContext
from aipm_sessions.api import Agent
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import token_hash
from aipm_sessions.directory import SqlDirectory


class UiTokens:
    """The ``People`` service."""

    def __init__(self, ctx: PluginContext[SessionsConfig], directory: SqlDirectory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def whose(self, token: str) -> Agent | None:
        """Say which person a token belongs to."""
        row = await self._ctx.store.one(
            "select agent_id, expires_at from ui_tokens "
            "where token_hash = ? and revoked_at is null",
            token_hash(token),
        )
        if row is None or self._ctx.clock() >= row["expires_at"]:
            return None
        return await self._directory.agent(self._ctx.store, row["agent_id"])
