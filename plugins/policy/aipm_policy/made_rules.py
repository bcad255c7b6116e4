"""Rules that people made while the server runs: each allows something, and ends some day."""

from __future__ import annotations

import json
from collections.abc import Mapping

from aipm_core import Json, PluginContext, Tx, iso, new_id
from aipm_policy.config import PolicyConfig, Rule
from aipm_policy.digest import canonical

_VALID = (
    "select * from policy_rules where project_id = ? and revoked_at is null and expires_at > ? "
    "order by created_at, id limit 1000"
)


class MadeRules:
    """They stand beside the rules of the settings, and like those above what is shipped."""

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        self._ctx = ctx

    async def valid(self, project_id: str) -> Mapping[str, Rule]:
        """Return the rules of a project that hold now, by their names."""
        rows = await self._ctx.store.all(_VALID, project_id, self._ctx.clock())
        return {f"made {row['id']}": Rule.model_validate_json(row["rule"]) for row in rows}

    async def listed(self, project_id: str) -> list[Json]:
        """Return the rules of a project that hold now, as people are shown them."""
        rows = await self._ctx.store.all(_VALID, project_id, self._ctx.clock())
        return [
            {
                **Rule.model_validate_json(row["rule"]).model_dump(mode="json"),
                "id": row["id"],
                "made_by": row["made_by"],
                "created_at": row["created_at"],
                "expires_at": iso(row["expires_at"]),
            }
            for row in rows
        ]

    async def make(self, tx: Tx, project_id: str, rule: Rule, by: str, days: float) -> Json:
        """Make a rule; return its id and its end."""
        rule_id, until = new_id("rul"), self._ctx.clock() + days * 86_400
        told = canonical(json.loads(rule.model_dump_json(exclude_defaults=True)))
        await tx.run(
            "insert into policy_rules (id, project_id, rule, made_by, created_at, expires_at) "
            "values (?, ?, ?, ?, ?, ?)",
            *(rule_id, project_id, told, by, self._ctx.now(), until),
        )
        return {"rule_id": rule_id, "expires_at": iso(until)}

    async def take_back(self, tx: Tx, rule_id: str, project_id: str) -> bool:
        """End a rule of a project; return whether there was one."""
        changed = await tx.run(
            "update policy_rules set revoked_at = ? where id = ? and project_id = ? "
            "and revoked_at is null",
            *(self._ctx.now(), rule_id, project_id),
        )
        return changed > 0
