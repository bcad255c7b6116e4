"""Audit entries about one call."""

from __future__ import annotations

from dataclasses import replace

from aipm_sessions.api import is_name

from aipm_core import Call, Session
from aipm_policy.api import Confirmation, Decision, Verdict
from aipm_policy.audit import AuditOutcome, Entry
from aipm_policy.digest import digest


def placed(call: Call) -> Session | None:
    """Return who calls, and where: a person's session is in no project, but their call may be."""
    session = call.session
    if session is None or session.purpose != "ui":
        return session
    arguments = call.request.arguments
    named = arguments.get("project_id", arguments.get("projectId"))
    # An id that is none may be a secret in the wrong place: it is not written down.
    return replace(session, project_id=named) if is_name(str(named)) else session


def entry_of(
    call: Call,
    verdict: Verdict,
    outcome: AuditOutcome,
    *,
    human_decision: str | None = None,
    human_id: str | None = None,
    confirmation_id: str | None = None,
) -> Entry:
    """Say how a call ended."""
    session = placed(call)
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
        inquiry=verdict.inquiry,
    )


def withdrawn_entry(asked: Confirmation, because: str) -> Entry:
    """Say that a question is gone, and the answer with it, because nobody is left to call."""
    return Entry(
        agent_id=asked.agent_id,
        session_id=asked.session_id,
        project_id=asked.project_id,
        tool=asked.tool,
        args_digest=asked.args_digest,
        rule=because,
        decision=Decision.REQUIRE_USER_CONFIRMATION.value,
        outcome="cancelled",
        human_decision=asked.status,
        human_id=asked.answered_by,
        confirmation_id=asked.id,
    )


def answered_entry(
    call: Call, verdict: Verdict, asked: Confirmation, outcome: AuditOutcome
) -> Entry:
    """Say how a call ended that somebody was asked about."""
    return entry_of(
        call,
        verdict,
        outcome,
        human_decision=asked.status,
        human_id=asked.answered_by,
        confirmation_id=asked.id,
    )
