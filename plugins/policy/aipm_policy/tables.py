"""The tables of this plugin."""

from __future__ import annotations

from aipm_core import Migration

MIGRATIONS = [
    Migration(
        name="0001_confirmations",
        sql="""
            create table confirmations (
                id text primary key,
                session_id text not null,
                project_id text not null,
                agent_id text not null,
                tool text not null,
                args text not null,
                args_digest text not null,
                level text not null,
                message text not null,
                status text not null check
                    (status in ('pending', 'approved', 'denied', 'expired', 'cancelled')),
                created_at text not null,
                expires_at real not null,
                answered_at text,
                answered_by text,
                reason text,
                used_at text
            );
            create index confirmations_pending on confirmations (expires_at)
                where status = 'pending';
            create index confirmations_call on confirmations (session_id, tool, args_digest)
                where used_at is null;
            create table policy_grants (
                id text primary key,
                tool text not null,
                project_id text not null,
                agent_id text not null,
                session_id text,
                args_digest text,
                granted_by text not null,
                created_at text not null,
                expires_at real not null,
                revoked_at text
            );
            create index policy_grants_tool on policy_grants (project_id, agent_id, tool)
                where revoked_at is null;
        """,
    ),
    Migration(
        name="0002_audit",
        sql="""
            create table policy_audit (
                seq integer primary key,
                at text not null,
                entry text not null,
                hash text not null
            );
            create table policy_audit_head (
                id integer primary key check (id = 1),
                last_seq integer not null,
                last_hash text not null,
                first_seq integer not null,
                first_hash text not null
            );
            insert into policy_audit_head values (1, 0, '', 0, '');
        """,
    ),
]
