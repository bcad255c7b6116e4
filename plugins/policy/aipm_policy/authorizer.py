"""Stands before every tool: lets through, refuses, or asks a person and waits."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import anyio
from aipm_notifications.api import INBOX, inbox_topic
from aipm_sessions.api import OPERATOR, Directory, SessionStore, is_operator

from aipm_core import Call, CallError, PluginContext, SessionInvalid, Tx
from aipm_policy.api import Confirmation, Decision, Policies, Verdict
from aipm_policy.audit import AuditOutcome, AuditTrail
from aipm_policy.config import PolicyConfig
from aipm_policy.confirmations import SqlConfirmations, confirmation_of, topic_of
from aipm_policy.digest import digest, shown
from aipm_policy.elicitation import ClientConfirmations
from aipm_policy.engine import POLICY_ERROR
from aipm_policy.entries import answered_entry, entry_of, placed
from aipm_policy.grants import Grants
from aipm_policy.levels import level_for
from aipm_policy.rules import is_default


class Interrupted(CallError):
    """The agent was told to stop while it waited for a person's answer."""


class PolicyAuthorizer:
    """The authorizer of this plugin. Every way into a tool leads past it."""

    def __init__(
        self,
        ctx: PluginContext[PolicyConfig],
        policies: Policies,
        confirmations: SqlConfirmations,
        grants: Grants,
        audit: AuditTrail,
        directory: Directory,
        sessions: SessionStore,
    ) -> None:
        self._ctx = ctx
        self._policies = policies
        self._confirmations = confirmations
        self._clients = ClientConfirmations(ctx, confirmations)
        self._grants = grants
        self._audit = audit
        self._directory = directory
        self._sessions = sessions
        self._inbox = ctx.services.find(INBOX)

    async def check(self, call: Call) -> None:
        """Return if the call may run; raise the refusal otherwise."""
        session = call.session
        principal = session.agent_id if session else None
        if session is not None and is_operator(session):
            # Whoever can write the rules is not judged by them, but put on record.
            await self._note_operator(call)
            return
        verdict = await self._policies.check_permission(
            call.tool, shown(call.request.arguments), principal, placed(call)
        )
        if verdict.decision is Decision.ALLOW:
            await self._note_permission(call, verdict)
        elif verdict.decision is Decision.DENY:
            await self._deny(call, verdict)
        elif call.tool.audience == "ui":
            # A person confirms by calling. To ask people about what people do would also lock the
            # answers to questions behind questions.
            own = {"human_decision": "own act", "human_id": principal}
            await self._audit.later(entry_of(call, verdict, "allowed", **own))
        else:
            continued = self._clients.state_of(call, verdict) is not None
            if continued or not await self._granted(call, verdict):
                await self._confirm(call, verdict)

    async def _note_operator(self, call: Call) -> None:
        if call.tool.read_only:
            return
        verdict = Verdict(decision=Decision.ALLOW, rule=OPERATOR)
        own = {"human_decision": "own act", "human_id": OPERATOR}
        await self._audit.later(entry_of(call, verdict, "allowed", **own))

    async def _note_permission(self, call: Call, verdict: Verdict) -> None:
        if is_default(verdict) and (call.session is None or call.tool.read_only):
            return
        await self._audit.later(entry_of(call, verdict, "allowed"))

    async def _deny(self, call: Call, verdict: Verdict) -> None:
        broken = verdict.rule.startswith(POLICY_ERROR)
        await self._audit.write(entry_of(call, verdict, POLICY_ERROR if broken else "denied"))
        key = "errors.policy_error" if broken else "errors.denied_by_policy"
        text = verdict.message or self._ctx.texts(key, tool=call.tool.name)
        raise CallError(text, code="denied_by_policy", status=403)

    async def _granted(self, call: Call, verdict: Verdict) -> bool:
        if call.session is None or verdict.approvers > 1:
            return False
        fingerprint, level = digest(call.request.arguments), level_for(call.tool, verdict)
        giver = await self._grants.giver(call.session, call.tool.name, fingerprint, level)
        if giver is None:
            return False
        await self._audit.write(
            entry_of(call, verdict, "allowed", human_decision="remembered", human_id=giver)
        )
        return True

    async def _confirm(self, call: Call, verdict: Verdict) -> None:
        if not await self._enough_people(call, verdict.approvers):
            await self._audit.write(entry_of(call, verdict, "no_confirmer"))
            raise self._ctx.refuse("no_confirmer", 403, tool=call.tool.name)
        try:
            await self._ask_until_used(call, verdict)
        except (asyncio.CancelledError, Interrupted, SessionInvalid):
            # The call is gone or must not run, so nobody may answer for it any more.
            with anyio.CancelScope(shield=True):
                await self._ctx.store.write(lambda tx: self._cancel(tx, call, verdict))
            raise

    async def _ask_until_used(self, call: Call, verdict: Verdict) -> None:
        """Ask, again if somebody else used up or withdrew the shared question."""
        while True:
            asked = await self._asked(call, verdict)
            if call.request.progress is not None:
                await call.request.progress(0, None, self._ctx.texts("progress.waiting"))
            elsewhere = self._answer_to(asked, call)
            answered = await self._clients.answer(call, verdict, asked, elsewhere)
            if answered.status in ("denied", "expired"):
                await self._refuse(call, verdict, answered)
            if answered.status == "approved" and await self._use(call, verdict, answered):
                return

    async def _asked(self, call: Call, verdict: Verdict) -> Confirmation:
        state = self._clients.state_of(call, verdict)
        if state is None:
            return await self._ctx.store.write(
                lambda tx: self._confirmations.ask(tx, call, verdict)
            )
        resumed = await self._clients.resumed(call, state)
        if resumed is None:
            other = replace(verdict, rule="the answer belongs to another call")
            await self._audit.write(entry_of(call, other, "answer_refused"))
            raise self._clients.not_found()
        return resumed

    async def _enough_people(self, call: Call, approvers: int) -> bool:
        if call.session is None:
            return False
        members = await self._directory.members(self._ctx.store, call.session.project_id)
        return sum(member.kind == "human" for member in members) >= approvers

    async def _answer_to(self, asked: Confirmation, call: Call) -> Confirmation:
        async def look() -> Confirmation | None:
            await self._stop_if_interrupted(call)
            row = await self._ctx.store.one("select * from confirmations where id = ?", asked.id)
            found = confirmation_of(row) if row else None
            return None if found is None or found.status == "pending" else found

        seconds = max(asked.expires_at - self._ctx.clock(), 0)
        until = anyio.current_time() + seconds
        topics = (topic_of(asked.id), *_inbox_topics(call))
        answered = await self._sessions.wait(call.caller, topics, look, seconds)
        if answered is not None:
            return answered
        if anyio.current_time() < until:  # the program stops; the question stays open
            raise self._ctx.refuse("server_stopping", 503, tool=call.tool.name)

        async def expire(tx: Tx) -> Confirmation:
            done = await self._confirmations.resolve(tx, asked.id, "expired")
            faster = await self._confirmations.find(tx, asked.id)
            return done or faster or replace(asked, status="expired")

        return await self._ctx.store.write(expire)

    async def _stop_if_interrupted(self, call: Call) -> None:
        """An agent that is told to stop does not wait for a yes to something else."""
        if self._inbox is None or call.session is None:
            return
        if await self._inbox.interrupted(self._ctx.store, call.session):
            refusal = self._ctx.refuse("confirmation_withdrawn", 409, tool=call.tool.name)
            raise Interrupted(str(refusal), code=refusal.code, status=refusal.status)

    async def _use(self, call: Call, verdict: Verdict, answered: Confirmation) -> bool:
        if digest(call.request.arguments) != answered.args_digest:
            changed = replace(verdict, rule="the arguments changed after they were shown")
            await self._deny(call, changed)

        async def spend(tx: Tx) -> bool:
            if not await self._confirmations.spend(tx, answered.id, call):
                return False
            await self._audit.record(tx, answered_entry(call, verdict, answered, "allowed"))
            return True

        return await self._ctx.store.write(spend)

    async def _refuse(self, call: Call, verdict: Verdict, answered: Confirmation) -> None:
        outcome: AuditOutcome = "expired" if answered.status == "expired" else "denied"
        await self._audit.write(answered_entry(call, verdict, answered, outcome))
        code = f"confirmation_{outcome}"
        if outcome == "expired":
            raise CallError(self._ctx.texts("expired.told"), code=code, status=403)
        if answered.proposal:
            told = {"tool": call.tool.name, "arguments": answered.proposal}
            text = self._ctx.texts("denied.instead", **told, reason=answered.reason or "–")
            raise CallError(text, code=code, status=403)
        if answered.reason:
            text = self._ctx.texts(
                "errors.confirmation_denied_because", tool=call.tool.name, reason=answered.reason
            )
            raise CallError(text, code=code, status=403)
        raise self._ctx.refuse(code, 403, tool=call.tool.name)

    async def _cancel(self, tx: Tx, call: Call, verdict: Verdict) -> None:
        done = await self._confirmations.cancel(tx, call)
        if done is not None:
            await self._audit.record(tx, answered_entry(call, verdict, done, "cancelled"))


def _inbox_topics(call: Call) -> tuple[str, ...]:
    session = call.session
    return () if session is None else (inbox_topic(session.project_id, session.agent_id),)
