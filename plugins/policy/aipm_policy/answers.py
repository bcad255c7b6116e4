"""People's answers, from a user interface or from the command line."""

from __future__ import annotations

import json
from typing import cast

from aipm_sessions.api import (
    OPERATOR,
    Directory,
    PendingDecision,
    is_operator,
    person_session,
)

from aipm_core import Call, CallError, Json, PluginContext, Reader, Session, Tx, iso
from aipm_policy.answer_notes import AnswerNotes, PersonsAnswer
from aipm_policy.api import Confirmation, ConfirmationStatus
from aipm_policy.audit import AuditTrail, Entry
from aipm_policy.config import PolicyConfig
from aipm_policy.confirmations import SqlConfirmations, confirmation_of
from aipm_policy.grants import Grants, Scope
from aipm_policy.second_thoughts import SecondThoughts

_MAX_SUMMARY_CHARACTERS = 300


class Answers:
    """Takes yes and no. It is also the ``DecisionSource`` behind ``aipm inbox``."""

    def __init__(
        self,
        ctx: PluginContext[PolicyConfig],
        confirmations: SqlConfirmations,
        grants: Grants,
        audit: AuditTrail,
        directory: Directory,
        notes: AnswerNotes,
        thoughts: SecondThoughts,
    ) -> None:
        self._thoughts = thoughts
        self._ctx = ctx
        self._confirmations = confirmations
        self._grants = grants
        self._audit = audit
        self._directory = directory
        self._notes = notes

    async def provide(self, call: Call, answer: PersonsAnswer) -> Json:
        """Take a person's answer to a question of one of their projects."""

        async def unit(tx: Tx) -> Json:
            confirmation = await self._asked(tx, call.caller, answer)
            done = await self._settle(tx, confirmation, answer, call.caller.agent_id)
            await self._notes.tell(tx, confirmation, answer, call.caller.agent_id)
            return {} if done else {"waits_for": "second_approver"}

        try:
            return await call.write(self._ctx.store, unit)
        except CallError as refusal:
            await self._refused(call.caller.agent_id, answer.confirmation_id, refusal)
            raise

    async def _asked(self, tx: Tx, person: Session, answer: PersonsAnswer) -> Confirmation:
        found = await self._confirmations.find(tx, answer.confirmation_id)
        elsewhere = found is None or answer.project_id not in (None, found.project_id)
        if found is None or elsewhere or not await self._may_answer(tx, person, found):
            raise self._ctx.refuse("confirmation_not_found", 404)
        return found

    async def _refused(self, person_id: str, confirmation_id: str, refusal: CallError) -> None:
        """Put on record that somebody tried to answer for a project of others."""
        if refusal.code != "confirmation_not_found":
            return
        row = await self._ctx.store.one("select * from confirmations where id = ?", confirmation_id)
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
                human_id=person_id,
                confirmation_id=asked.id,
            )
        )

    async def pending(self, db: Reader, project_id: str | None) -> list[PendingDecision]:
        """List what waits, oldest first."""
        rows = await db.all(
            "select * from confirmations where status = 'pending' and expires_at > ? "
            "and project_id = coalesce(?, project_id) order by created_at, id limit 1000",
            *(self._ctx.clock(), project_id),
        )
        return [
            PendingDecision(
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
        return await self.answer_with_more(
            decision_id, approved=approved, by=by, reason=reason, note=None, scope="once"
        )

    async def answer_with_more(
        self,
        decision_id: str,
        *,
        approved: bool,
        by: str,
        reason: str | None,
        note: str | None,
        scope: str,
    ) -> bool:
        """Answer once or for longer, with a note that the agent gets."""
        answer = PersonsAnswer(
            confirmation_id=decision_id,
            approved=approved,
            reason=reason,
            note=note,
            scope=cast("Scope", scope),
        )

        async def settle(tx: Tx) -> bool:
            confirmation = await self._confirmations.find(tx, decision_id)
            if confirmation is None:
                return False
            await self._check_by(tx, by, confirmation)
            await self._settle(tx, confirmation, answer, by)
            await self._notes.tell(tx, confirmation, answer, by)
            return True

        return await self._ctx.store.write(settle)

    async def _check_by(self, tx: Tx, by: str, confirmation: Confirmation) -> None:
        if by == OPERATOR:
            return
        person = await self._directory.agent(tx, by)
        if person is None or not await self._may_answer(tx, person_session(person), confirmation):
            raise self._ctx.refuse("confirmation_not_found", 404)

    async def _may_answer(self, tx: Tx, person: Session, confirmation: Confirmation) -> bool:
        if is_operator(person):
            return True
        return person.kind == "human" and await self._directory.is_member(
            tx, person.agent_id, confirmation.project_id
        )

    async def _settle(
        self, tx: Tx, confirmation: Confirmation, answer: PersonsAnswer, by: str
    ) -> bool:
        """Settle a question; ``False`` if a second person has to agree first."""
        if confirmation.status == "pending" and self._ctx.clock() >= confirmation.expires_at:
            raise self._ctx.refuse("confirmation_expired", 403)
        if answer.approved and await self._thoughts.first_yes(tx, confirmation, answer.scope, by):
            return False
        status: ConfirmationStatus = "approved" if answer.approved else "denied"
        proposal = None
        if answer.instead is not None and confirmation.status == "pending":
            proposal = self._thoughts.check_proposal(confirmation, answer.instead)
        done = await self._confirmations.resolve(
            tx, confirmation.id, status, by=by, reason=answer.reason, proposal=proposal
        )
        if done is None:
            raise self._too_late(confirmation)
        if answer.instead is not None:
            await self._thoughts.allow_instead(tx, done, answer.instead, by)
        if answer.approved:
            await self._grants.give(tx, done, answer.scope, by)
        return True

    def _too_late(self, confirmation: Confirmation) -> CallError:
        if confirmation.status == "expired":
            return self._ctx.refuse("confirmation_expired", 403)
        return self._ctx.refuse("confirmation_already_answered", 409, status=confirmation.status)


def _short(args: str) -> str:
    text = json.dumps(json.loads(args), ensure_ascii=False)
    return text if len(text) <= _MAX_SUMMARY_CHARACTERS else f"{text[:_MAX_SUMMARY_CHARACTERS]}…"
