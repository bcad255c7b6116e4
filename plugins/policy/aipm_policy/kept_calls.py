"""Calls as they were judged, kept for a while so that other rules can be tried on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from aipm_core import Audience, Gateway, Purpose, Reader, Row, Session, Trait, Tx, redact
from aipm_policy.api import Decision, Inquiry
from aipm_policy.digest import canonical

_LONGEST = 8000
MOST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCall:
    """A call and what was decided about it; without ``inquiry`` it cannot be judged again."""

    tool: str
    agent_id: str
    at: float
    decision: Decision
    inquiry: Inquiry | None


async def keep_call(tx: Tx, seq: int, call: Inquiry, decision: str) -> None:
    """Keep a call of an agent beside its entry in the trail."""
    session = call.session
    secret = Trait.KEEPS_NO_RESULT in call.tool.traits and call.tool.audience != "native"
    if session is None or secret or call.tool.audience == "ui":
        return
    text = canonical(dict(call.args))
    # What is very long or has a secret in it is not written down a second time.
    args = text if len(text) <= _LONGEST and redact(text) == text else None
    await tx.run(
        "insert into policy_calls (seq, at, project_id, agent_id, session_id, purpose, tool, "
        "audience, args, workplace, decision) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(seq, call.at, session.project_id, session.agent_id, session.id, session.purpose),
        *(call.tool.name, call.tool.audience, args, call.workplace, decision),
    )


async def calls_since(
    db: Reader, gateway: Gateway, project_id: str, since: float
) -> Sequence[KeptCall]:
    """Return the newest calls of a project since a moment, newest first."""
    rows = await db.all(
        "select * from policy_calls where project_id = ? and at >= ? order by at desc, seq desc "
        "limit ?",
        *(project_id, since, MOST),
    )
    return [_kept(row, gateway) for row in rows]


def _kept(row: Row, gateway: Gateway) -> KeptCall:
    return KeptCall(
        tool=row["tool"],
        agent_id=row["agent_id"],
        at=row["at"],
        decision=Decision(row["decision"]),
        inquiry=_inquiry(row, gateway),
    )


def _inquiry(row: Row, gateway: Gateway) -> Inquiry | None:
    tool = gateway.find_tool(row["tool"], cast("Audience", row["audience"]))
    if tool is None or row["args"] is None:
        return None
    session = Session(
        id=row["session_id"],
        agent_id=row["agent_id"],
        project_id=row["project_id"],
        purpose=cast("Purpose", row["purpose"]),
    )
    return Inquiry(
        tool=tool,
        args=json.loads(row["args"]),
        principal=row["agent_id"],
        session=session,
        workplace=row["workplace"],
        at=row["at"],
    )
