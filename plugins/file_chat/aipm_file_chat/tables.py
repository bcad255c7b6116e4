"""The tables of this plugin, and their rows as messages.

``seq`` is handed out in the order of commits and never again, so read state and cursors hang on it
and not on a clock. A row of ``chat_outbox`` stands for a message that is not yet safe in its files.
The search index follows the messages in batches (:mod:`history`): a message is acknowledged
without waiting for it.
"""

from __future__ import annotations

from aipm_core import Migration, Row
from aipm_file_chat.api import Message

OUTBOX = "chat:outbox"
"""The topic that tells that something entered the outbox."""

_MESSAGES = """
    create table messages (
        seq integer primary key autoincrement,
        id text not null unique,
        project_id text not null,
        sender_id text not null,
        receiver_id text not null,
        content text not null,
        created_at text not null,
        related_task_id text,
        conversation_id text,
        idempotency_key text,
        read_at text
    );
    create index messages_received on messages (project_id, receiver_id, seq);
    create index messages_sent on messages (project_id, sender_id, seq);
    create index messages_unread on messages (project_id, receiver_id, seq)
        where read_at is null;
    create index messages_conversation on messages (conversation_id, seq)
        where conversation_id is not null;
    create unique index messages_idempotency
        on messages (project_id, sender_id, idempotency_key)
        where idempotency_key is not null;
    create table chat_outbox (seq integer primary key references messages (seq));
"""
# Without an index of words a search reads the agent's messages one by one.
_SEARCH = """
    create virtual table messages_search using fts5 (
        content, content = 'messages', content_rowid = 'seq', tokenize = 'trigram'
    );
"""

MIGRATIONS = [
    Migration(name="0001_messages", sql={"sqlite": _MESSAGES + _SEARCH, "postgresql": _MESSAGES})
]


def message_of(row: Row) -> Message:
    """Read a row of ``messages``."""
    return Message(
        seq=row["seq"],
        id=row["id"],
        project_id=row["project_id"],
        sender_id=row["sender_id"],
        receiver_id=row["receiver_id"],
        content=row["content"],
        created_at=row["created_at"],
        related_task_id=row["related_task_id"],
        conversation_id=row["conversation_id"],
    )
