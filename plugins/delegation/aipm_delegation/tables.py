"""The table of this plugin: the columns of the design, then what leases need."""

from __future__ import annotations

from aipm_core import Migration

MIGRATIONS = [
    Migration(
        name="0001_chat_delegations",
        sql="""
            create table chat_delegations (
                id text primary key,
                agent_id text not null references agents (id),
                project_id text not null references projects (id),
                target_agent_id text not null references agents (id),
                purpose text not null,
                context text,
                status text not null default 'pending'
                    check (status in ('pending', 'processing', 'completed', 'failed')),
                created_at text not null,
                processed_at text,
                result text,
                task_id text,
                task_session_id text not null,
                attempts integer not null default 0,
                chat_session_id text,
                leased_until double precision
            );
            create index chat_delegations_open on chat_delegations (project_id, agent_id, status)
                where status in ('pending', 'processing');
            create index chat_delegations_held on chat_delegations (chat_session_id)
                where status = 'processing';
            create index chat_delegations_leases on chat_delegations (leased_until)
                where status = 'processing';
            create index chat_delegations_task on chat_delegations (task_id)
                where task_id is not null;
            create index chat_delegations_session on chat_delegations (task_session_id);
        """,
    ),
    Migration(
        name="0002_recent",
        sql="create index chat_delegations_recent on chat_delegations (project_id, created_at, id)",
    ),
]
