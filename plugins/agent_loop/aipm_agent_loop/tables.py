"""The tables of this plugin."""

from __future__ import annotations

from aipm_core import Migration

MIGRATIONS = [
    Migration(
        name="0001_conversations",
        sql="""
            create table agent_threads (
                session_id text primary key,
                inputs integer not null default 0,
                messages integer not null default 0,
                runs integer not null default 0,
                tokens integer not null default 0,
                owner text,
                lease_until real
            );
            create index agent_threads_owner on agent_threads (owner) where owner is not null;
            create table agent_inputs (
                session_id text not null references agent_threads (session_id),
                number integer not null,
                text text not null,
                images text not null,
                status text not null check (status in ('queued', 'taken', 'dropped')),
                created_at text not null,
                primary key (session_id, number)
            );
            create index agent_inputs_queued on agent_inputs (session_id, number)
                where status = 'queued';
            create table agent_runs (
                id text primary key,
                session_id text not null references agent_threads (session_id),
                number integer not null,
                status text not null check
                    (status in ('running', 'completed', 'failed', 'cancelled', 'interrupted')),
                cancel_requested integer not null default 0,
                tokens integer not null default 0,
                started_at text not null,
                ended_at text
            );
            create unique index agent_runs_running on agent_runs (session_id)
                where status = 'running';
            create table agent_messages (
                session_id text not null references agent_threads (session_id),
                number integer not null,
                run_id text not null references agent_runs (id),
                role text not null check (role in ('user', 'assistant')),
                body text not null,
                created_at text not null,
                primary key (session_id, number)
            );
            create table agent_calls (
                id text primary key,
                session_id text not null,
                message integer not null,
                place integer not null,
                run_id text not null references agent_runs (id),
                name text not null,
                args text not null,
                status text,
                reply text,
                unique (session_id, message, place)
            );
            create index agent_calls_open on agent_calls (run_id) where status is null;
        """,
    ),
    Migration(
        name="0002_beats",  # lease_until is not used any more
        sql="alter table agent_threads add column beat integer not null default 0",
    ),
]
