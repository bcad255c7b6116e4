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
    Migration(
        name="0003_audit_cut",
        sql="""
            create table policy_audit_cut (
                id integer primary key check (id = 1),
                seq integer not null,
                hash text not null,
                cut_at text not null,
                newest_at text not null,
                link text not null
            );
            insert into policy_audit_cut (id, seq, hash, cut_at, newest_at, link)
                select 1, first_seq, first_hash, '', '', '' from policy_audit_head
                where first_seq > 0;
        """,
    ),
    # Until here only grants about CRITICAL calls kept their arguments; of the others nobody knows.
    Migration(
        name="0004_grant_levels",
        sql="""
            alter table policy_grants add column level text not null default 'INFO';
            update policy_grants set level = 'CRITICAL' where args_digest is not null;
        """,
    ),
    Migration(
        name="0005_shown",
        sql="""
            alter table confirmations add column rule text not null default '';
            create index confirmations_open on confirmations (project_id, created_at)
                where status = 'pending';
            create index confirmations_recent on confirmations (project_id, created_at);
            create index confirmations_answered on confirmations (project_id, answered_at)
                where answered_at is not null;
        """,
    ),
    Migration(
        name="0006_rehearsal",
        sql="""
            create table policy_calls (
                seq integer primary key,
                at double precision not null,
                project_id text not null,
                agent_id text not null,
                session_id text not null,
                purpose text not null,
                tool text not null,
                audience text not null,
                args text,
                workplace text,
                decision text not null
            );
            create index policy_calls_at on policy_calls (project_id, at);
            create table policy_rules (
                id text primary key,
                project_id text not null,
                rule text not null,
                made_by text not null,
                created_at text not null,
                expires_at double precision not null,
                revoked_at text
            );
            create index policy_rules_valid on policy_rules (project_id)
                where revoked_at is null;
        """,
    ),
    Migration(
        name="0007_second_thoughts",
        sql="""
            alter table confirmations add column approvers integer not null default 1;
            alter table confirmations add column first_yes_by text;
            alter table confirmations add column proposal text;
        """,
    ),
]
