"""What people do with their tokens, and managers with those of their people."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    Json,
    PluginContext,
    Reader,
    Trait,
    Tx,
    quoted,
    tool,
)
from aipm_sessions.administration import Administration
from aipm_sessions.api import is_operator
from aipm_sessions.authority import Authority
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory

_MOST_DAYS = 3650


class Whose(Arguments):
    """Arguments of ``list_tokens``; left out: one's own."""

    agent_id: str | None = Field(default=None, max_length=64)


class CreateToken(Whose):
    """Arguments of ``create_token``."""

    days: float | None = Field(default=None, gt=0, le=_MOST_DAYS)


class RevokeToken(Arguments):
    """Arguments of ``revoke_token``."""

    token_id: str = Field(max_length=64)


class TokenTools:
    """Tokens are everybody's own, and managers' for their people."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        administration: Administration,
        directory: SqlDirectory,
    ) -> None:
        self._ctx = ctx
        self._administration = administration
        self._directory = directory
        self._authority = Authority(ctx, directory)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        person, secret = Access.PERSON, (Trait.KEEPS_NO_RESULT,)
        yield tool(self.create_token, access=person, audience="ui", traits=secret)
        yield tool(self.list_tokens, access=person, audience="ui", read_only=True)
        yield tool(self.revoke_token, access=person, audience="ui", destructive=True)

    async def create_token(self, call: Call, args: CreateToken) -> Json:
        """Make a token for a program of a person; it is shown once."""

        async def unit(tx: Tx) -> Json:
            who = await self._whose(tx, call, args.agent_id)
            return await self._administration.insert_token(tx, who, days=args.days)

        return await call.write(self._ctx.store, unit)

    async def list_tokens(self, call: Call, args: Whose) -> Json:
        """List a person's tokens, without their secrets."""
        if args.agent_id is None and is_operator(call.caller):
            return {"tokens": await self._administration.tokens()}
        who = await self._whose(self._ctx.store, call, args.agent_id)
        return {"tokens": await self._administration.tokens(who)}

    async def revoke_token(self, call: Call, args: RevokeToken) -> Json:
        """Make a token worthless from now on."""

        async def unit(tx: Tx) -> Json:
            row = await tx.one(
                "select agent_id from ui_tokens where id = ? and revoked_at is null", args.token_id
            )
            if row is None or not await self._may_manage(tx, call, row["agent_id"]):
                raise self._ctx.refuse("token_not_found", 404, token=quoted(args.token_id))
            await self._administration.revoke(tx, args.token_id)
            return {"token_id": args.token_id}

        return await call.write(self._ctx.store, unit)

    async def _whose(self, db: Reader, call: Call, agent_id: str | None) -> str:
        """Return whose tokens a call is about; those of others are for their managers."""
        if agent_id in (None, call.caller.agent_id):
            return call.caller.agent_id
        if call.caller.role != "manager":
            raise self._ctx.refuse("manager_required", 403)
        agent = await self._authority.known(db, call.caller, agent_id or "")
        await self._authority.check_governs(db, call.caller, agent.id)
        if agent.kind != "human":
            raise self._ctx.refuse("not_a_human", 403, agent=agent.id)
        return agent.id

    async def _may_manage(self, db: Reader, call: Call, agent_id: str) -> bool:
        if agent_id == call.caller.agent_id or is_operator(call.caller):
            return True
        theirs = await self._directory.projects_of(db, agent_id)
        manager = call.caller.role == "manager" and bool(theirs)
        return manager and await self._authority.governs(db, call.caller, agent_id)
