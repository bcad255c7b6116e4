"""The table of this plugin: a row for every marker of every message."""

from __future__ import annotations

from aipm_core import Migration

MIGRATIONS = [
    Migration(
        name="0001_markers",
        sql="""
            create table message_markers (
                message_id text not null,
                action text not null,
                project_id text not null,
                sender_id text not null,
                receiver_id text not null,
                argument text not null,
                created_at text not null,
                spent_at text,
                spent_by text,
                primary key (message_id, action)
            );
        """,
    )
]
