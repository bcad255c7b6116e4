"""Questions to people, kept in the store: asked once, answered once, used once."""

from __future__ import annotations

import json
from collections.abc import Iterable

from aipm_sessions.api import SessionStore
from aipm_ui_gateway.api import (
    SecurityWarning,
    ToolCallRequest,
    confirmation_resolved,
    tool_call_request,
)

from aipm_core import Call, CallError, PluginContext, Row, Texts, Tx, iso, new_id
from aipm_policy.api import (
    Confirmation,
    ConfirmationObserver,
    ConfirmationStatus,
    PolicyHooks,
    Verdict,
)
from aipm_policy.audit import AuditTrail
from aipm_policy.config import PolicyConfig
from aipm_policy.digest import canonical, digest, shown
from aipm_policy.entries import withdrawn_entry
from aipm_policy.levels import level_for


class SqlConfirmations:
    """The ``Confirmations`` service, and the transitions of a confirmation."""

    def __init__(
        self, ctx: PluginContext[PolicyConfig], audit: AuditTrail, sessions: SessionStore
    ) -> None:
        self._ctx = ctx
        self._audit = audit
        self._sessions = sessions

    async def ask(self, tx: Tx, call: Call, verdict: Verdict) -> Confirmation:
        """Ask about a call, or take up the same question if it is open already.

        A repeated call waits for the answer to the first; one that was approved while its caller
        was away (a restart, a lost connection) runs without a second question.
        """
        session, arguments = call.caller, shown(call.request.arguments)
        await self._sessions.check_going_on(tx, session)
        open_one = await self._open(tx, call)
        if open_one is not None:
            return confirmation_of(open_one)
        await self._check_flood(tx, session.id)
        level = level_for(call.tool, verdict)
        message = warning_of(self._ctx.texts, call, verdict)
        seconds = verdict.seconds or self._ctx.config.confirmation_seconds
        expires_at = self._ctx.clock() + seconds
        row = await tx.one(
            "insert into confirmations (id, session_id, project_id, agent_id, tool, args, "
            "args_digest, level, message, status, created_at, expires_at, rule, approvers) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?) "
            "returning *",
            *(new_id("cnf"), session.id, session.project_id, session.agent_id, call.tool.name),
            *(canonical(arguments), digest(arguments), level, message, self._ctx.now(), expires_at),
            *(verdict.rule, verdict.approvers),
        )
        assert row is not None  # noqa: S101 - an insert that does not raise returns its row  # nosec B101
        await self._announce(tx, row, call.request.call_id)
        return confirmation_of(row)

    async def _open(self, tx: Tx, call: Call, *, pending: bool = False) -> Row | None:
        return await tx.one(
            "select * from confirmations where session_id = ? and tool = ? and args_digest = ? "
            "and used_at is null and (status = 'pending' or (status = 'approved' and not ?)) "
            "and expires_at > ? order by created_at limit 1",
            *(call.caller.id, call.tool.name, digest(call.request.arguments)),
            *(pending, self._ctx.clock()),
        )

    async def cancel(self, tx: Tx, call: Call) -> Confirmation | None:
        """Withdraw the question about a call that nobody waits for any more."""
        row = await self._open(tx, call, pending=True)
        return await self.resolve(tx, row["id"], "cancelled") if row else None

    async def _check_flood(self, tx: Tx, session_id: str) -> None:
        row = await tx.one(
            "select count(*) as n from confirmations where session_id = ? "
            "and status = 'pending' and used_at is null and expires_at > ?",
            *(session_id, self._ctx.clock()),
        )
        if row is not None and row["n"] >= self._ctx.config.max_pending:
            text = self._ctx.texts("errors.too_many_questions")
            raise CallError(text, code="denied_by_policy", status=403)

    async def _announce(self, tx: Tx, row: Row, call_id: str | None) -> None:
        payload = ToolCallRequest(
            confirmationId=row["id"],
            toolName=row["tool"],
            args=json.loads(row["args"]),
            security_warning=SecurityWarning(level=row["level"], message=row["message"]),
            expiresAt=iso(row["expires_at"]),
            toolCallId=call_id,
        )
        await self._ctx.events.record(tx, tool_call_request(row["session_id"], payload))
        for observer in self._observers():
            if observer.asked is not None:
                await observer.asked(tx, confirmation_of(row))
        tx.wake("confirmations", project_topic(row["project_id"]))

    def _observers(self) -> Iterable[ConfirmationObserver]:
        given = self._ctx.given(PolicyHooks.aipm_confirmation_observers)
        return (owned.record for owned in given)

    async def find(self, tx: Tx, confirmation_id: str) -> Confirmation | None:
        """Find a confirmation, whatever became of it."""
        row = await tx.one("select * from confirmations where id = ?", confirmation_id)
        return confirmation_of(row) if row else None

    async def resolve(
        self,
        tx: Tx,
        confirmation_id: str,
        status: ConfirmationStatus,
        *,
        by: str | None = None,
        reason: str | None = None,
        proposal: str | None = None,
    ) -> Confirmation | None:
        """Move a pending confirmation to its end; ``None`` if somebody was faster."""
        row = await tx.one(
            "update confirmations set status = ?, answered_at = ?, answered_by = ?, reason = ?, "
            "proposal = ? where id = ? and status = 'pending' returning *",
            *(status, self._ctx.now(), by, reason, proposal, confirmation_id),
        )
        if row is None:
            return None
        event = confirmation_resolved(
            row["session_id"], row["id"], row["status"], answered_by=by, reason=reason
        )
        await self._ctx.events.record(tx, event)
        made = confirmation_of(row)
        for observer in self._observers():
            if observer.resolved is not None:
                await observer.resolved(tx, made)
        tx.wake(topic_of(row["id"]), "confirmations", project_topic(row["project_id"]))
        return made

    async def spend(self, tx: Tx, confirmation_id: str, call: Call) -> bool:
        """Use an approval for exactly the call it was given for; ``False`` if it is used up."""
        await self._sessions.check_going_on(tx, call.caller)
        changed = await tx.run(
            "update confirmations set used_at = ? where id = ? and status = 'approved' "
            "and used_at is null and session_id = ? and tool = ? and args_digest = ?",
            *(self._ctx.now(), confirmation_id, call.caller.id, call.tool.name),
            digest(call.request.arguments),
        )
        return changed == 1

    async def withdraw(self, tx: Tx, session_id: str, because: str = "its calls died") -> None:
        """Cancel every open question of a session."""
        rows = await tx.all(
            "select * from confirmations where session_id = ? and used_at is null "
            "and status in ('pending', 'approved')",
            session_id,
        )
        for row in rows:
            gone = await self.resolve(tx, row["id"], "cancelled")
            if gone is None:  # nobody is left to use this approval
                await tx.run(
                    "update confirmations set used_at = ? where id = ?", self._ctx.now(), row["id"]
                )
            await self._audit.record(tx, withdrawn_entry(gone or confirmation_of(row), because))

    async def due_in(self) -> float | None:
        """Return the seconds until the next question runs out of time, if there is any."""
        row = await self._ctx.store.one(
            "select min(expires_at) as next from confirmations where status = 'pending'"
        )
        return None if row is None or row["next"] is None else row["next"] - self._ctx.clock()

    async def expire(self, tx: Tx) -> None:
        """End the questions nobody answered in time and nobody waits for any more."""
        rows = await tx.all(
            "select id from confirmations where status = 'pending' and expires_at <= ? limit 200",
            self._ctx.clock(),
        )
        for row in rows:
            await self.resolve(tx, row["id"], "expired")


def warning_of(texts: Texts, call: Call, verdict: Verdict) -> str:
    """Say what a person should think about."""
    level = level_for(call.tool, verdict)
    return verdict.message or texts(f"warnings.{level}", tool=call.tool.name)


def topic_of(confirmation_id: str) -> str:
    """Name what wakes those who wait for an answer."""
    return f"confirmation:{confirmation_id}"


def project_topic(project_id: str) -> str:
    """Name what is woken when a question of a project is asked or answered."""
    return f"confirmations:{project_id}"


def confirmation_of(row: Row) -> Confirmation:
    """Make the record other plugins see."""
    return Confirmation(
        id=row["id"],
        session_id=row["session_id"],
        project_id=row["project_id"],
        agent_id=row["agent_id"],
        tool=row["tool"],
        args_digest=row["args_digest"],
        level=row["level"],
        status=row["status"],
        expires_at=row["expires_at"],
        answered_by=row["answered_by"],
        reason=row["reason"],
        approvers=row["approvers"],
        first_yes_by=row["first_yes_by"],
        proposal=row["proposal"],
    )
