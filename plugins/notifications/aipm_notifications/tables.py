"""The tables of this plugin.

``audience`` is empty for everybody, so that one index finds what a session may see; the partial
index holds unread rows only, so that a check costs the same however many were ever read.
"""

from __future__ import annotations

from aipm_core import Migration

_NOTIFICATIONS = """
    create table notifications (
        seq {counter},
        id text not null unique,
        agent_id text not null,
        project_id text not null,
        audience text not null default '' check (audience in ('', 'task', 'chat')),
        type text not null,
        interrupt integer not null,
        action text,
        message text not null,
        instruction text,
        task_id text,
        created_at text not null,
        expires_at double precision not null,
        read_at double precision
    );
    create index notifications_unread
        on notifications (agent_id, project_id, audience, interrupt, expires_at)
        where read_at is null;
    create index notifications_pauses on notifications (agent_id, project_id, seq)
        where action in ('pause', 'resume');
    create index notifications_expiry on notifications (expires_at) where read_at is null;
    create index notifications_read on notifications (read_at) where read_at is not null;
"""

_WITHHELD = """
    create table withheld_results (
        seq {counter},
        agent_id text not null,
        project_id text not null,
        purpose text not null,
        session_id text not null,
        tool text not null,
        arguments_digest text not null,
        ok integer not null,
        result text not null,
        at text not null
    );
    create index withheld_results_owner
        on withheld_results (agent_id, project_id, purpose, seq);
"""

# What others say about a notification, beside its own sentence.
_ABOUT = """
    alter table notifications add column conversation_id text;
    alter table notifications add column reason text;
"""

# A pause holds until somebody lifts it: it does not hang on a notification, which is swept.
_PAUSES = """
    create table notification_pauses (
        agent_id text not null,
        project_id text not null,
        audience text not null,
        seq bigint not null,
        action text not null check (action in ('pause', 'resume')),
        since text not null,
        primary key (agent_id, project_id, audience)
    );
    insert into notification_pauses (agent_id, project_id, audience, seq, action, since)
        select agent_id, project_id, audience, seq, action, created_at from notifications
        where seq in (select max(seq) from notifications where action in ('pause', 'resume')
            group by agent_id, project_id, audience);
    drop index notifications_pauses;
"""

_SHOWN = """
    create index notifications_shown on notifications (project_id, seq)
        where type <> 'new_message';
"""

# Whose work an interrupt is about: it holds this session, and whoever takes its work up. Or who was
# there when it came: it holds every session of the agent, but not other work after that one's end.
_SESSION = """
    alter table notifications add column session_id text;
    alter table notifications add column meant_for text;
"""

_COUNTERS = {
    "sqlite": "integer primary key autoincrement",
    "postgresql": "bigint generated always as identity primary key",
}

MIGRATIONS = [
    Migration(name=name, sql={engine: sql.format(counter=c) for engine, c in _COUNTERS.items()})
    for name, sql in (
        ("0001_notifications", _NOTIFICATIONS),
        ("0002_withheld_results", _WITHHELD),
        ("0003_about", _ABOUT),
        ("0004_pauses", _PAUSES),
        ("0005_shown", _SHOWN),
        ("0006_session", _SESSION),
    )
]
