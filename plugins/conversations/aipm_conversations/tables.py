"""The tables of this plugin."""

from __future__ import annotations

from aipm_core import Migration

MIGRATIONS = [
    Migration(
        name="0001_conversations",
        sql="""
            create table conversations (
                id text primary key,
                project_id text not null references projects (id),
                initiator_id text not null references agents (id),
                participant_id text not null references agents (id),
                first_id text not null,
                second_id text not null,
                purpose text,
                state text not null check (state in ('pending', 'active', 'ended', 'expired')),
                turns integer not null,
                max_turns integer not null,
                task_id text,
                delegation_id text,
                created_at text not null,
                due_at double precision not null,
                ended_at text,
                ended_by text,
                end_reason text
                    check (end_reason in ('end', 'max_turns', 'timeout', 'session_lost'))
            );
            create unique index conversations_open on conversations
                (project_id, first_id, second_id) where state in ('pending', 'active');
            create index conversations_pending on conversations (project_id, participant_id)
                where state = 'pending';
            create index conversations_due on conversations (due_at)
                where state in ('pending', 'active');
            create index conversations_task on conversations (task_id) where task_id is not null;
            create index conversations_delegation on conversations (delegation_id)
                where delegation_id is not null;
            create table conversation_sides (
                conversation_id text not null references conversations (id),
                agent_id text not null references agents (id),
                project_id text not null,
                session_id text,
                lost_at double precision,
                told_at text,
                primary key (conversation_id, agent_id)
            );
            create index conversation_sides_untold on conversation_sides (project_id, agent_id)
                where told_at is null;
            create index conversation_sides_lost on conversation_sides (lost_at)
                where lost_at is not null;
        """,
    ),
    Migration(
        name="0002_recent",
        sql="""
            create index conversations_recent on conversations (project_id, created_at, id);
            create index conversations_over on conversations (project_id, ended_at)
                where ended_at is not null;
        """,
    ),
]
