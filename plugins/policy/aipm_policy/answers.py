"""People's answers, from a user interface or from the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping

from aipm_sessions.api import Agent, Decision, Directory
from aipm_ui_gateway.api import ProvideConfirmation, UiSession
from pydantic import BaseModel

from aipm_core import CallError, Json, PluginContext, Reader, Tx, iso
from aipm_policy.api import Confirmation, Status
from aipm_policy.audit import AuditTrail, Entry
from aipm_policy.config import PolicyConfig
from aipm_policy.confirmations import Questions, confirmation_of
from aipm_policy.grants import Grants, Scope

OPERATOR = "operator"
_LONGEST_SUMMARY = 300


class Answers:
    """Takes yes and no. It is also the ``DecisionSource`` behind ``aipm inbox``."""

    def __init__(
        self,
        ctx: PluginContext[PolicyConfig],
        questions: Questions,
        grants: Grants,
        audit: AuditTrail,
        directory: Directory,
    ) -> None:
        self._ctx = ctx
        self._questions = questions
        self._grants = grants
        self._audit = audit
        self._directory = directory

    async def provide(
        self, tx: Tx, person: Agent, _: UiSession | None, payload: ProvideConfirmation
    ) -> Mapping[str, Json]:
        """Carry out the command ``provideConfirmation``."""
        confirmation = await self._questions.find(tx, payload.confirmationId)
        if confirmation is None or not await self._may_answer(tx, person, confirmation):
            raise self._ctx.refuse("confirmation_not_found", 404)
        await self._settle(
            tx,
            confirmation,
            approved=payload.approved,
            by=person.id,
            reason=payload.reason,
            scope=payload.scope,
        )
        return {}

    async def refused(self, person: Agent, payload: BaseModel, refusal: CallError) -> None:
        """Put on record that somebody tried to answer for a project of others."""
        if refusal.code != "confirmation_not_found" or not isinstance(payload, ProvideConfirmation):
            return
        row = await self._ctx.store.one(
            "select * from confirmations where id = ?", payload.confirmationId
        )
        if row is None:
            return
        asked = confirmation_of(row)
        await self._audit.write(
            Entry(
                agent_id=asked.agent_id,
                session_id=asked.session_id,
                project_id=asked.project_id,
                tool=asked.tool,
                args_digest=asked.args_digest,
                rule="not a person of this project",
                decision="REQUIRE_USER_CONFIRMATION",
                outcome="answer_refused",
                human_id=person.id,
                confirmation_id=asked.id,
            )
        )

    async def pending(self, db: Reader, project_id: str | None) -> list[Decision]:
        """List what waits, oldest first."""
        rows = await db.all(
            "select * from confirmations where status = 'pending' and expires_at > ? "
            "and project_id = coalesce(?, project_id) order by created_at, id limit 1000",
            *(self._ctx.clock(), project_id),
        )
        return [
            Decision(
                id=row["id"],
                kind="confirmation",
                project_id=row["project_id"],
                agent_id=row["agent_id"],
                summary=f"[{row['level']}] {row['tool']} {_short(row['args'])}",
                created_at=row["created_at"],
                expires_at=iso(row["expires_at"]),
            )
            for row in rows
        ]

    async def answer(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None
    ) -> bool:
        """Answer from the command line; ``False`` if the id is not a confirmation's."""

        async def settle(tx: Tx) -> bool:
            confirmation = await self._questions.find(tx, decision_id)
            if confirmation is None:
                return False
            if by != OPERATOR:
                person = await self._directory.agent(tx, by)
                if person is None or not await self._may_answer(tx, person, confirmation):
                    raise self._ctx.refuse("confirmation_not_found", 404)
            await self._settle(tx, confirmation, approved=approved, by=by, reason=reason)
            return True

        return await self._ctx.store.write(settle)

    async def _may_answer(self, tx: Tx, person: Agent, confirmation: Confirmation) -> bool:
        return person.kind == "human" and await self._directory.is_member(
            tx, person.id, confirmation.project_id
        )

    async def _settle(
        self,
        tx: Tx,
        confirmation: Confirmation,
        *,
        approved: bool,
        by: str,
        reason: str | None,
        scope: Scope = "once",
    ) -> None:
        if confirmation.status == "pending" and self._ctx.clock() >= confirmation.expires_at:
            raise self._ctx.refuse("confirmation_expired", 403)
        status: Status = "approved" if approved else "denied"
        done = await self._questions.resolve(tx, confirmation.id, status, by=by, reason=reason)
        if done is None:
            raise self._too_late(confirmation)
        if approved:
            await self._grants.give(tx, done, scope, by)

    def _too_late(self, confirmation: Confirmation) -> CallError:
        if confirmation.status == "expired":
            return self._ctx.refuse("confirmation_expired", 403)
        return self._ctx.refuse("confirmation_already_answered", 409, status=confirmation.status)


def _short(args: str) -> str:
    text = json.dumps(json.loads(args), ensure_ascii=False)
    return text if len(text) <= _LONGEST_SUMMARY else f"{text[:_LONGEST_SUMMARY]}…"
