"""Recognises the tokens of people's user interfaces."""

from __future__ import annotations

from aipm_core import PluginContext, Row, Session, Tx
from aipm_sessions.api import Agent, is_name, person_session
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import token_hash
from aipm_sessions.directory import SqlDirectory

_MINUTE = len("2026-01-01T00:00")  # of a time as it is stored
_SLIDE_SECONDS = 600.0  # a token in use is prolonged this often, not with every call


class UiTokens:
    """The ``People`` service, and the authenticator behind everything people call."""

    def __init__(self, ctx: PluginContext[SessionsConfig], directory: SqlDirectory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def person_of(self, token: str) -> Agent | None:
        """Return the person a token belongs to."""
        row = await self._ctx.store.one(
            "select id, agent_id, expires_at, idle_seconds, last_used_at from ui_tokens "
            "where token_hash = ? and revoked_at is null",
            token_hash(token),
        )
        if row is None or self._ctx.clock() >= row["expires_at"]:
            return None
        await self._note_use(row)
        person = await self._directory.agent(self._ctx.store, row["agent_id"])
        if person is None or person.kind != "human" or not is_name(person.id):
            return None  # an id that became a word of the program is nobody's any more
        return person

    async def resolve(self, token: str) -> Session | None:
        """Return which person calls with a token."""
        person = await self.person_of(token)
        return person_session(person) if person is not None else None

    async def _note_use(self, row: Row) -> None:
        """Keep when a token was used last, to the minute.

        A login that is used goes on; a token made for a program ends on its day.
        """
        now, ends = self._ctx.now(), row["expires_at"]
        if row["idle_seconds"] is not None:
            slid = self._ctx.clock() + row["idle_seconds"]
            slides = slid - ends >= min(_SLIDE_SECONDS, row["idle_seconds"] / 2)
            ends = slid if slides else ends
        if ends == row["expires_at"] and (row["last_used_at"] or "")[:_MINUTE] == now[:_MINUTE]:
            return

        async def note(tx: Tx) -> None:
            await tx.run(
                "update ui_tokens set expires_at = ?, last_used_at = ? where id = ?",
                *(ends, now, row["id"]),
            )

        await self._ctx.store.write(note)
