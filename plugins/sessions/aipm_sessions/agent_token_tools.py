"""What people do with the tokens of agents' programs."""

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
    Purpose,
    Trait,
    Tx,
    quoted,
    tool,
)
from aipm_sessions.agent_tokens import SqlAgentTokens
from aipm_sessions.authority import Authority
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory

_ID = Field(max_length=64)


class CreateAgentToken(Arguments):
    """Arguments of ``create_agent_token``."""

    project_id: str = _ID
    agent_id: str = _ID
    purpose: Purpose = "task"
    days: float = Field(default=90, gt=0, le=3650)


class OneAgent(Arguments):
    """Arguments of ``list_agent_tokens``."""

    project_id: str = _ID
    agent_id: str = _ID


class RevokeAgentToken(Arguments):
    """Arguments of ``revoke_agent_token``."""

    project_id: str = _ID
    token_id: str = _ID


class AgentTokenTools:
    """Whoever has a token of an agent is that agent, so managers hand them out."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        tokens: SqlAgentTokens,
        directory: SqlDirectory,
    ) -> None:
        self._ctx = ctx
        self._tokens = tokens
        self._authority = Authority(ctx, directory)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        manager, secret = Access.MANAGER, (Trait.KEEPS_NO_RESULT,)
        yield tool(self.create_agent_token, access=manager, audience="ui", traits=secret)
        yield tool(self.list_agent_tokens, access=manager, audience="ui", read_only=True)
        yield tool(self.revoke_agent_token, access=manager, audience="ui", destructive=True)

    async def create_agent_token(self, call: Call, args: CreateAgentToken) -> Json:
        """Make a token for the program of an agent; it is shown once."""

        async def unit(tx: Tx) -> Json:
            agent = await self._authority.member(tx, args.agent_id, args.project_id)
            if agent.kind != "ai":
                raise self._ctx.refuse("not_an_ai", 403, agent=agent.id)
            return await self._tokens.insert(tx, agent.id, args.project_id, args.purpose, args.days)

        return await call.write(self._ctx.store, unit)

    async def list_agent_tokens(self, call: Call, args: OneAgent) -> Json:
        """List an agent's tokens in a project, without their secrets."""
        agent = await self._authority.member(self._ctx.store, args.agent_id, args.project_id)
        rows = await self._tokens.listed(self._ctx.store, agent.id)
        return {"tokens": [row for row in rows if row["project_id"] == args.project_id]}

    async def revoke_agent_token(self, call: Call, args: RevokeAgentToken) -> Json:
        """Make a token worthless from now on, and end the session it has opened."""

        async def unit(tx: Tx) -> Json:
            row = await self._tokens.find(tx, args.token_id)
            if row is None or row["project_id"] != args.project_id:
                raise self._ctx.refuse("token_not_found", 404, token=quoted(args.token_id))
            await self._tokens.revoke(tx, args.token_id)
            return {"token_id": args.token_id}

        return await call.write(self._ctx.store, unit)
