"""When a session was last heard of: kept to the second, shown by the minute."""

from __future__ import annotations

from aipm_core import Tx


def seen_topic(project_id: str, session_id: str) -> str:
    """Name what is woken when a session was heard of in another minute than before."""
    return f"session_seen:{project_id}:{session_id}"


def minute_of(moment: float) -> float:
    """Return the start of the minute a moment is in."""
    return moment // 60 * 60


async def note_seen(tx: Tx, session_id: str, moment: float) -> None:
    """Write down when a session was heard of, unless something newer stands there."""
    row = await tx.one("select project_id, last_seen from sessions where id = ?", session_id)
    if row is None or row["last_seen"] >= moment:
        return
    await tx.run("update sessions set last_seen = ? where id = ?", moment, session_id)
    if minute_of(moment) != minute_of(row["last_seen"]):
        tx.wake(seen_topic(row["project_id"], session_id))
