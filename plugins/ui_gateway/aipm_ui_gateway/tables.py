"""The tables of this plugin."""

from __future__ import annotations

from aipm_core import Migration

MIGRATIONS = [
    Migration(
        name="0001_ui",
        sql="""
            create table ui_sessions (
                id text primary key,
                person_id text not null,
                project_id text not null,
                agent_id text not null,
                created_at text not null,
                closed_at text
            );
            create index ui_sessions_open on ui_sessions (person_id) where closed_at is null;
            create table ui_commands (
                person_id text not null,
                id text not null,
                digest text not null,
                ack text not null,
                at double precision not null,
                primary key (person_id, id)
            );
            create index ui_commands_at on ui_commands (at);
        """,
    ),
    Migration(
        name="0002_threads",
        sql="""
            create table ui_threads (
                person_id text not null,
                thread_id text not null,
                session_id text not null,
                run_id text not null default '',
                place bigint not null default 0,
                primary key (person_id, thread_id)
            );
        """,
    ),
    Migration(
        name="0003_idle_sessions",
        sql="""
            alter table ui_sessions add column last_used double precision not null default 0;
            create index ui_sessions_closed on ui_sessions (closed_at)
                where closed_at is not null;
            create index ui_threads_session on ui_threads (session_id);
        """,
    ),
]
