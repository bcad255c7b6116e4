"""Logs people in: with a passkey, or with a code that `aipm open` made a moment ago."""

from __future__ import annotations

import secrets
import unicodedata

from aipm_core import CallError, PluginContext, Reader, Row, Tx, new_id
from aipm_sessions.api import TOKENS_CHANGED, Agent, PersonLogin, is_name
from aipm_sessions.attempts import LoginAttempts
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import new_secret, token_hash
from aipm_sessions.directory import SqlDirectory, missing
from aipm_sessions.passkeys import Passkeys

CODE_SECONDS = 300
_CODE_LENGTH = 8
_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # none that is taken for another


class PeopleLogin:
    """The ``PeopleLogins`` service."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        directory: SqlDirectory,
        passkeys: Passkeys,
        attempts: LoginAttempts,
    ) -> None:
        self._ctx = ctx
        self._directory = directory
        self._passkeys = passkeys
        self._attempts = attempts

    async def with_passkey(self, agent_id: str, passkey: str) -> PersonLogin:
        """Log in with an id and a passkey; an agent's own passkey is as wrong as any."""
        attempt = await self._attempts.begin(agent_id)
        row = await self._candidate(self._ctx.store, agent_id)
        stored = row["passkey_hash"] if row else None
        if not await self._passkeys.fits(agent_id, passkey, stored):
            raise self._wrong()

        async def unit(tx: Tx) -> PersonLogin:
            now = await self._candidate(tx, agent_id)
            # Looked at again: the check took its time, and the passkey may have changed meanwhile.
            if now is None or now["passkey_hash"] != stored:
                raise self._wrong()
            await self._attempts.forget(tx, attempt)
            return await self._opened(tx, agent_id)

        return await self._ctx.store.write(unit)

    async def with_code(self, code: str, address: str) -> PersonLogin:
        """Log in with a one-time code, however it was typed."""
        attempt = await self._attempts.begin(f"code from {address}")
        used = token_hash(normalised(code))

        async def unit(tx: Tx) -> PersonLogin:
            row = await tx.one("select * from login_codes where code_hash = ?", used)
            if row is None or self._ctx.clock() >= row["expires_at"]:
                raise self._wrong()
            await tx.run("delete from login_codes where code_hash = ?", used)
            await self._attempts.forget(tx, attempt)
            return await self._opened(tx, row["agent_id"])

        return await self._ctx.store.write(unit)

    async def end(self, token: str) -> None:
        """Make a token worthless."""
        now = self._ctx.now()

        async def unit(tx: Tx) -> None:
            await tx.run(
                "update ui_tokens set revoked_at = ? where token_hash = ? and revoked_at is null",
                *(now, token_hash(token)),
            )
            tx.wake(TOKENS_CHANGED)

        await self._ctx.store.write(unit)

    async def new_code(self, person_id: str | None) -> tuple[str, Agent]:
        """Make a one-time code; only its hash is kept, and not for long."""
        return await self._ctx.store.write(lambda tx: self.insert_code(tx, person_id))

    async def insert_code(self, tx: Tx, person_id: str | None) -> tuple[str, Agent]:
        """Make a one-time code as part of a transaction."""
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
        person, now = await self._person(tx, person_id), self._ctx.clock()
        await tx.run("delete from login_codes where expires_at <= ?", now)
        await tx.run(
            "insert into login_codes (code_hash, agent_id, expires_at) values (?, ?, ?)",
            *(token_hash(code), person.id, now + CODE_SECONDS),
        )
        return code, person

    async def _person(self, db: Reader, person_id: str | None) -> Agent:
        if person_id is None:
            people = [one for one in await self._directory.agents(db) if one.kind == "human"]
            if len(people) == 1:
                return people[0]
            names = ", ".join(one.id for one in people)
            text = f"say who you are with --as: {names}" if people else "there is no person yet"
            raise CallError(text, code="person_required", status=400)
        person = await self._directory.agent(db, person_id)
        if person is None or person.kind != "human":
            raise missing("person", person_id)
        return person

    async def _candidate(self, db: Reader, agent_id: str) -> Row | None:
        if not is_name(agent_id):
            return None
        sql = "select passkey_hash from agents where id = ? and kind = 'human'"
        return await db.one(sql, agent_id)

    async def _opened(self, tx: Tx, person_id: str) -> PersonLogin:
        """Make the token of a login, which lives as long as it is used."""
        person = await self._directory.agent(tx, person_id)
        if person is None or person.kind != "human":
            raise self._wrong()
        token, idle = new_secret("aipm_ui_"), self._ctx.config.login_hours * 3600
        await tx.run(
            "insert into ui_tokens (id, token_hash, agent_id, created_at, expires_at, "
            "idle_seconds) values (?, ?, ?, ?, ?, ?)",
            *(new_id("uit"), token_hash(token), person.id, self._ctx.now()),
            *(self._ctx.clock() + idle, idle),
        )
        return PersonLogin(person=person, token=token, expires_in=int(idle))

    def _wrong(self) -> CallError:
        text = self._ctx.texts("errors.login_failed")
        return CallError(text, code="invalid_credentials", status=401)


def normalised(code: str) -> str:
    """Return a code as it was made: full-width, small, spaced or hyphenated, it is the same."""
    plain = unicodedata.normalize("NFKC", code).upper()
    return "".join(letter for letter in plain if letter.isalnum())
