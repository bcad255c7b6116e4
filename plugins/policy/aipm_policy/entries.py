"""Audit entries about one call."""

from __future__ import annotations

from aipm_core import Call
from aipm_policy.api import Confirmation, Verdict
from aipm_policy.audit import Entry, Outcome
from aipm_policy.digest import digest


def entry_of(
    call: Call,
    verdict: Verdict,
    outcome: Outcome,
    *,
    human_decision: str | None = None,
    human_id: str | None = None,
    confirmation_id: str | None = None,
) -> Entry:
    """Say how a call ended."""
    session = call.session
    return Entry(
        agent_id=session.agent_id if session else None,
        session_id=session.id if session else None,
        project_id=session.project_id if session else None,
        tool=call.tool.name,
        args_digest=digest(call.request.arguments),
        rule=verdict.rule,
        decision=verdict.decision.value,
        outcome=outcome,
        human_decision=human_decision,
        human_id=human_id,
        confirmation_id=confirmation_id,
    )


def answered_entry(call: Call, verdict: Verdict, asked: Confirmation, outcome: Outcome) -> Entry:
    """Say how a call ended that somebody was asked about."""
    return entry_of(
        call,
        verdict,
        outcome,
        human_decision=asked.status,
        human_id=asked.answered_by,
        confirmation_id=asked.id,
    )
