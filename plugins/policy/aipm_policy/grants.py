"""Permissions that people gave for more than one call."""

from __future__ import annotations

from typing import Literal, TypeAlias

from aipm_core import CallError, Json, PluginContext, Row, Session, Tx, iso, new_id
from aipm_policy.api import Confirmation
from aipm_policy.config import PolicyConfig

Scope: TypeAlias = Literal["once", "session", "always"]


class Grants:
    """What was allowed for a session or for good. Every grant ends some day.

    A grant is for one tool of one agent in one project. What was asked about as ``CRITICAL`` is
    allowed with the very same arguments only: yes to one command is not yes to every command.
    """

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        self._ctx = ctx

    async def give(self, tx: Tx, confirmation: Confirmation, scope: Scope, by: str) -> None:
        """Remember a yes."""
        if scope == "once":
            return
        config = self._ctx.config
        seconds = config.session_hours * 3600 if scope == "session" else config.always_days * 86_400
        await tx.run(
            "insert into policy_grants (id, tool, project_id, agent_id, session_id, args_digest, "
            "granted_by, created_at, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(new_id("grt"), confirmation.tool, confirmation.project_id, confirmation.agent_id),
            confirmation.session_id if scope == "session" else None,
            confirmation.args_digest if confirmation.level == "CRITICAL" else None,
            *(by, self._ctx.now(), self._ctx.clock() + seconds),
        )

    async def giver(self, session: Session, tool: str, args_digest: str) -> str | None:
        """Say who has allowed such a call in advance."""
        row = await self._ctx.store.one(
            "select granted_by from policy_grants where project_id = ? and agent_id = ? "
            "and tool = ? and revoked_at is null and expires_at > ? "
            "and (session_id is null or session_id = ?) "
            "and (args_digest is null or args_digest = ?) limit 1",
            *(session.project_id, session.agent_id, tool, self._ctx.clock()),
            *(session.id, args_digest),
        )
        return str(row["granted_by"]) if row else None

    async def valid(self) -> list[dict[str, Json]]:
        """List what is allowed now."""
        rows = await self._ctx.store.all(
            "select * from policy_grants where revoked_at is null and expires_at > ? "
            "order by created_at limit 1000",
            self._ctx.clock(),
        )
        return [_plain(row) for row in rows]

    async def revoke(self, grant_id: str) -> None:
        """Take a permission back."""
        now = self._ctx.now()

        async def take_back(tx: Tx) -> int:
            return await tx.run(
                "update policy_grants set revoked_at = ? where id = ? and revoked_at is null",
                *(now, grant_id),
            )

        if not await self._ctx.store.write(take_back):
            text = f"there is no permission {grant_id!r}; `aipm policy grants` lists them"
            raise CallError(text, code="grant_not_found", status=404)


def _plain(row: Row) -> dict[str, Json]:
    return {
        "id": row["id"],
        "tool": row["tool"],
        "project_id": row["project_id"],
        "agent_id": row["agent_id"],
        "session_id": row["session_id"],
        "same_arguments_only": row["args_digest"] is not None,
        "granted_by": row["granted_by"],
        "expires_at": iso(row["expires_at"]),
    }
