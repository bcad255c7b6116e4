"""Permissions that people gave for more than one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from aipm_ui_gateway.api import Level

from aipm_core import Json, PluginContext, Row, Session, Tx, iso, new_id
from aipm_policy.api import Confirmation
from aipm_policy.config import PolicyConfig
from aipm_policy.levels import height

Scope: TypeAlias = Literal["once", "session", "always"]


class Grants:
    """What was allowed for a session or for good. Every grant ends some day.

    A grant is for one tool of one agent in one project, and for no call of a higher level than it
    was given for. What was asked about as ``CRITICAL`` is allowed with the very same arguments
    only: yes to one command is not yes to every command.
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
            "granted_by, created_at, expires_at, level) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(new_id("grt"), confirmation.tool, confirmation.project_id, confirmation.agent_id),
            confirmation.session_id if scope == "session" else None,
            confirmation.args_digest if confirmation.level == "CRITICAL" else None,
            *(by, self._ctx.now(), self._ctx.clock() + seconds, confirmation.level),
        )

    async def giver(
        self, session: Session, tool: str, args_digest: str, level: Level
    ) -> str | None:
        """Return who has allowed such a call of this level in advance."""
        rows = await self._ctx.store.all(
            "select granted_by, args_digest, level from policy_grants where project_id = ? "
            "and agent_id = ? and tool = ? and revoked_at is null and expires_at > ? "
            "and (session_id is null or session_id = ?) "
            "and (args_digest is null or args_digest = ?)",
            *(session.project_id, session.agent_id, tool, self._ctx.clock()),
            *(session.id, args_digest),
        )
        return next((str(row["granted_by"]) for row in rows if _covers(row, level)), None)

    async def valid(self, projects: Sequence[str] | None = None) -> list[dict[str, Json]]:
        """List what is allowed now, in some projects or in all."""
        rows = await self._ctx.store.all(
            "select * from policy_grants where revoked_at is null and expires_at > ? "
            f"and {_among(projects)} order by created_at limit 1000",
            *(self._ctx.clock(), int(projects is None), *(projects or ())),
        )
        return [_plain(row) for row in rows]

    async def take_back(self, tx: Tx, grant_id: str, projects: Sequence[str] | None = None) -> bool:
        """Take a permission back, of some projects or of any; return whether there was one."""
        changed = await tx.run(
            "update policy_grants set revoked_at = ? where id = ? and revoked_at is null "
            f"and {_among(projects)}",
            *(self._ctx.now(), grant_id, int(projects is None), *(projects or ())),
        )
        return changed > 0


def _among(projects: Sequence[str] | None) -> str:
    places = ", ".join("?" for _ in projects or ()) or "null"
    return f"(? = 1 or project_id in ({places}))"


def _covers(row: Row, level: Level) -> bool:
    if level == "CRITICAL" and row["args_digest"] is None:
        return False
    return height(row["level"]) >= height(level)


def _plain(row: Row) -> dict[str, Json]:
    return {
        "id": row["id"],
        "tool": row["tool"],
        "project_id": row["project_id"],
        "agent_id": row["agent_id"],
        "session_id": row["session_id"],
        "same_arguments_only": row["args_digest"] is not None,
        "level": row["level"],
        "granted_by": row["granted_by"],
        "created_at": row["created_at"],
        "expires_at": iso(row["expires_at"]),
    }
