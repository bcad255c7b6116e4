"""Which message a session was shown last: what it may answer, and whose wish it may act on."""

from __future__ import annotations

from aipm_core import Reader, Session, Tx
from aipm_file_chat.api import Message
from aipm_file_chat.tables import message_of

_SESSIONS_KEPT = 100  # of one agent in one project; one that ended long ago answers nothing more


class Deliveries:
    """One row a session: the newest of the messages it was given."""

    async def note(self, tx: Tx, session: Session, newest: Message) -> None:
        """Remember that a session is being given messages up to this one."""
        mailbox = (session.project_id, session.agent_id)
        await tx.run(
            "insert into chat_deliveries (session_id, project_id, agent_id, seq) "
            "values (?, ?, ?, ?) on conflict (session_id) do update set seq = excluded.seq "
            "where chat_deliveries.seq < excluded.seq",
            *(session.id, *mailbox, newest.seq),
        )
        await tx.run(
            "delete from chat_deliveries where project_id = ? and agent_id = ? and seq < "
            "(select min(seq) from (select seq from chat_deliveries where project_id = ? "
            "and agent_id = ? order by seq desc limit ?) as kept)",
            *(*mailbox, *mailbox, _SESSIONS_KEPT),
        )

    async def newest(self, db: Reader, session: Session) -> Message | None:
        """Return the newest message a session was given."""
        row = await db.one(
            "select m.* from chat_deliveries d join messages m on m.seq = d.seq "
            "where d.session_id = ? and d.project_id = ? and d.agent_id = ?",
            *(session.id, session.project_id, session.agent_id),
        )
        return message_of(row) if row else None
