"""The tables of this plugin."""

from __future__ import annotations

from aipm_core import Migration

_RUNS = """
    create table agent_programs (
        agent_id text primary key,
        program text not null default '',
        model text,
        system_prompt text,
        role_text text,
        workspace text check (workspace in ('worktree', 'directory')),
        max_budget_usd double precision
    );
    create table runs (
        number {counter},
        id text not null unique,
        agent_id text not null,
        project_id text not null,
        purpose text not null check (purpose in ('task', 'chat')),
        task_id text,
        program text not null,
        owner text not null,
        beat bigint not null default 0,
        state text not null check (state in
            ('claimed', 'preparing', 'starting', 'running', 'waiting', 'ending', 'ended')),
        waits_for text check (waits_for in ('confirmation', 'answer', 'quota', 'slot')),
        since text not null,
        evidence text not null check (evidence in ('stream', 'call', 'exit', 'lease', 'person')),
        evidence_at text not null,
        session_id text,
        workspace text,
        repository text,
        branch text,
        base text,
        snapshot text,
        stop_by text,
        end_reason text,
        exit_code integer,
        detail text,
        fruitless integer not null default 0,
        forgiven integer not null default 0,
        tokens bigint,
        cost_usd double precision,
        created_at text not null,
        ended_at text,
        ended_time double precision
    );
    create unique index runs_alive on runs (project_id, agent_id, purpose) where ended_at is null;
    create index runs_owner on runs (owner) where ended_at is null;
    create index runs_of on runs (project_id, agent_id, purpose, number);
    create index runs_ended on runs (ended_at) where ended_at is not null;
    create table run_log (
        run_id text not null,
        number bigint not null,
        at text not null,
        stream text not null,
        text text not null,
        primary key (run_id, number)
    );
"""
_RUNNERS = """
    alter table runs add column machine text;
    alter table runs add column person text;
    alter table runs add column step bigint not null default 0;
    alter table runs add column stop_reason text;
    alter table runs add column account text;
    alter table runs add column questions integer not null default 0;
    create index runs_session on runs (session_id) where ended_at is null;
    create index runs_day on runs (agent_id, created_at);
    create index runs_account on runs (account) where account is not null;
    create table run_changes (
        run_id text primary key,
        text text not null
    );
    create table account_limits (
        account text primary key,
        until double precision not null,
        noted_at text not null
    );
    create table held_runs (
        run_id text primary key,
        owner text not null,
        server text not null,
        step bigint not null default 0,
        over integer not null default 0,
        workspace text,
        repository text
    );
    create table run_reports (
        run_id text not null,
        step bigint not null,
        body text not null,
        primary key (run_id, step)
    );
"""
_COUNTERS = {
    "sqlite": "integer primary key autoincrement",
    "postgresql": "bigint generated always as identity primary key",
}

MIGRATIONS = [
    Migration(
        name="0001_runs",
        sql={engine: _RUNS.format(counter=counter) for engine, counter in _COUNTERS.items()},
    ),
    Migration(
        name="0002_undone_runs",
        sql="""
            alter table runs add column undone_by text;
            alter table runs add column undone_at text;
        """,
    ),
    Migration(
        name="0003_guarded_programs",
        sql="""
            alter table runs add column guarded integer;
            alter table runs add column program_session text;
        """,
    ),
    Migration(name="0004_runners", sql=_RUNNERS),
    Migration(
        name="0005_conversations",
        sql="""
            alter table runs add column home text;
            alter table runs add column resumes text;
            alter table runs add column parked integer not null default 0;
            alter table runs add column parked_until double precision;
            create index runs_parked on runs (number) where parked <> 0;
        """,
    ),
]
