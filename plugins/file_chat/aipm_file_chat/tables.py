"""The tables of this plugin, and their rows as messages.

``seq`` is handed out in the order of commits and never again, so read state and cursors hang on it
and not on a clock. A row of ``chat_outbox`` stands for a message that is not yet safe in its files.
A row of ``chat_deliveries`` is the newest message one session has been given.
The search index follows the messages in batches (:mod:`search`): a message is acknowledged
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
_SEARCH = """
    create virtual table messages_search using fts5 (
        content, content = 'messages', content_rowid = 'seq', tokenize = 'trigram'
    );
"""

_DELIVERIES = """
    create table chat_deliveries (
        session_id text primary key,
        project_id text not null,
        agent_id text not null,
        seq bigint not null
    );
    create index chat_deliveries_of on chat_deliveries (project_id, agent_id, seq);
"""

# A message that nobody was given yet can be withdrawn. What takes its place, or says that it was
# withdrawn, is a message of its own that names it: files are only ever added to.
_CORRECTIONS = """
    alter table messages add column corrects text;
    alter table messages add column withdrawn_at text;
"""
# Every two neighbouring characters of a message; an ordinary index of arrays finds them.
_GROUPS = """
    create table messages_search (
        seq bigint primary key references messages (seq) on delete cascade,
        folded text not null,
        parts text[] not null
    );
    create index messages_search_parts on messages_search using gin (parts);
"""

MIGRATIONS = [
    Migration(name="0001_messages", sql={"sqlite": _MESSAGES + _SEARCH, "postgresql": _MESSAGES}),
    Migration(name="0002_deliveries", sql=_DELIVERIES),
    Migration(name="0003_corrections", sql=_CORRECTIONS),
    Migration(name="0004_search", sql={"postgresql": _GROUPS}),
]


def read_topic(project_id: str, agent_id: str) -> str:
    """Name what is woken when messages between an agent and somebody else are read."""
    return f"chat_read:{project_id}:{agent_id}"


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
        corrects=row["corrects"],
    )
