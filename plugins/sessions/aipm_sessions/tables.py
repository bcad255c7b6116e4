"""The tables of this plugin."""

from __future__ import annotations

from aipm_core import Migration

MIGRATIONS = [
    Migration(
        name="0001_identity",
        sql="""
            create table projects (
                id text primary key,
                name text not null,
                directory text,
                created_at text not null
            );
            create table agents (
                id text primary key,
                name text not null,
                kind text not null check (kind in ('ai', 'human')),
                role text not null check (role in ('manager', 'worker')),
                parent_id text references agents (id),
                passkey_hash text not null,
                created_at text not null
            );
            create table project_agents (
                project_id text not null references projects (id),
                agent_id text not null references agents (id),
                primary key (project_id, agent_id)
            );
            create index project_agents_agent on project_agents (agent_id);
        """,
    ),
    Migration(
        name="0002_sessions",
        sql="""
            create table sessions (
                id text primary key,
                token_hash text not null unique,
                agent_id text not null references agents (id),
                project_id text not null references projects (id),
                purpose text not null check (purpose in ('task', 'chat')),
                created_at text not null,
                last_seen real not null,
                ends_at real not null,
                ended_at text,
                end_reason text
            );
            create index sessions_live on sessions (project_id, agent_id, purpose)
                where ended_at is null;
            create index sessions_ended on sessions (ended_at) where ended_at is not null;
            create table ui_tokens (
                id text primary key,
                token_hash text not null unique,
                agent_id text not null references agents (id),
                created_at text not null,
                expires_at real not null,
                revoked_at text
            );
            create table login_attempts (
                id text primary key,
                agent_id text not null,
                at real not null
            );
            create index login_attempts_agent on login_attempts (agent_id, at);
        """,
    ),
    Migration(
        name="0003_work_claims",
        sql="""
            create table work_claims (
                id text primary key,
                project_id text not null references projects (id),
                agent_id text not null references agents (id),
                purpose text not null check (purpose in ('task', 'chat')),
                supervisor text not null,
                claimed_at text not null,
                expires_at double precision not null,
                opened_at text
            );
            create unique index work_claims_open on work_claims (project_id, agent_id, purpose)
                where opened_at is null;
            create index work_claims_key on work_claims (project_id, agent_id, purpose, expires_at);
            create index work_claims_expiry on work_claims (expires_at);
            create table work_claim_sessions (
                claim_id text not null references work_claims (id) on delete cascade,
                session_id text not null,
                primary key (claim_id, session_id)
            );
        """,
    ),
    Migration(
        name="0004_passkey_seal",
        sql={
            "sqlite": """
                create table passkey_seal (key text not null);
                insert into passkey_seal (key) values (hex(randomblob(32)));
            """,
            "postgresql": """
                create table passkey_seal (key text not null);
                insert into passkey_seal (key) select
                    cast(gen_random_uuid() as varchar) || cast(gen_random_uuid() as varchar);
            """,
        },
    ),
    Migration(
        name="0005_followed",
        sql="""
            alter table sessions add column followed integer not null default 0;
            create index sessions_followed on sessions (project_id, agent_id)
                where ended_at is null and followed = 1;
        """,
    ),
    Migration(
        name="0006_work_turns",
        sql="""
            create table work_turns (
                project_id text not null references projects (id),
                agent_id text not null references agents (id),
                purpose text not null check (purpose in ('task', 'chat')),
                turn bigint not null,
                primary key (project_id, agent_id, purpose)
            );
        """,
    ),
    Migration(
        name="0007_people",
        sql="""
            alter table ui_tokens add column idle_seconds double precision;
            create table login_codes (
                code_hash text primary key,
                agent_id text not null references agents (id),
                expires_at double precision not null
            );
            create table person_calls (
                person_id text not null,
                key text not null,
                digest text not null,
                result text,
                at double precision not null,
                primary key (person_id, key)
            );
            create index person_calls_at on person_calls (at);
        """,
    ),
    Migration(
        name="0008_recent",
        sql="""
            create index sessions_opened on sessions (project_id, created_at);
            create index sessions_over on sessions (project_id, ended_at)
                where ended_at is not null;
        """,
    ),
    Migration(
        name="0009_pauses",
        sql="""
            create table project_pauses (
                project_id text primary key references projects (id),
                since text not null,
                paused_by text not null
            );
        """,
    ),
    Migration(
        name="0010_put_away",
        sql="""
            alter table projects add column archived_at text;
            alter table projects add column removed_at text;
            alter table agents add column removed_at text;
            alter table ui_tokens add column last_used_at text;
        """,
    ),
    Migration(
        name="0011_pools",
        sql="alter table projects add column pool integer not null default 0;",
    ),
    Migration(
        name="0012_agent_tokens",
        sql="""
            create table agent_tokens (
                id text primary key,
                token_hash text not null unique,
                agent_id text not null references agents (id),
                project_id text not null references projects (id),
                purpose text not null,
                created_at text not null,
                expires_at double precision not null,
                revoked_at text,
                last_used_at text,
                session_id text
            );
        """,
    ),
]
