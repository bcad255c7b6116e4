"""Pauses: a state of their own, so that no notification has to be kept for it."""

from __future__ import annotations

from aipm_core import Reader, Session, Tx

_ACTIONS = ("pause", "resume")
_PAUSE = (
    "select action, since from notification_pauses where agent_id = ? and project_id = ? "
    "and audience in ('', ?) order by seq desc limit 1"
)


async def note_pause(tx: Tx, notification_id: str) -> None:
    """Remember what a notification says about a pause, if it says anything.

    A pause or its end holds for the audience it was sent to, until the next one for it.
    """
    await tx.run(
        "insert into notification_pauses (agent_id, project_id, audience, seq, action, since) "
        "select agent_id, project_id, audience, seq, action, created_at from notifications "
        "where id = ? and action in (?, ?) "
        "on conflict (agent_id, project_id, audience) do update "
        "set seq = excluded.seq, action = excluded.action, since = excluded.since",
        *(notification_id, *_ACTIONS),
    )


async def paused_since(db: Reader, session: Session) -> str | None:
    """Return when a session was asked to pause, unless it was asked to resume since."""
    row = await db.one(_PAUSE, session.agent_id, session.project_id, session.purpose)
    return str(row["since"]) if row and row["action"] == "pause" else None
