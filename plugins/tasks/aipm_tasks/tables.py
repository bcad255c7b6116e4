"""The tables of this plugin."""

from __future__ import annotations

from aipm_core import Migration

_TASKS = """
    create table tasks (
        seq {counter},
        id text not null unique,
        project_id text not null,
        title text not null,
        description text not null,
        status text not null check (status in
            ('backlog', 'todo', 'in_progress', 'blocked', 'done', 'cancelled')),
        priority text not null,
        rank integer not null,
        assignee_id text,
        requester_id text,
        parent_task_id text references tasks (id),
        depth integer not null,
        approval_status text not null check (approval_status in
            ('approved', 'pending_approval', 'rejected')),
        approval_by text,
        result text,
        summary text,
        started_at text,
        created_at text not null,
        updated_at text not null
    );
    create index tasks_of_agent on tasks (project_id, assignee_id, status, rank, seq);
    create index tasks_by_status on tasks (project_id, status, seq);
    create index tasks_by_assignee on tasks (project_id, assignee_id, seq);
    create index tasks_in_project on tasks (project_id, seq);
    create index tasks_children on tasks (parent_task_id, seq) where parent_task_id is not null;
    create index tasks_running on tasks (project_id, assignee_id) where status = 'in_progress';
    create index tasks_pending on tasks (project_id, seq)
        where approval_status = 'pending_approval';
    create table task_dependencies (
        task_id text not null references tasks (id),
        depends_on text not null references tasks (id),
        primary key (task_id, depends_on)
    );
    create index task_dependents on task_dependencies (depends_on);
    create table task_keys (
        project_id text not null,
        agent_id text not null,
        key text not null,
        task_id text not null references tasks (id),
        primary key (project_id, agent_id, key)
    );
"""

_HISTORY = """
    create table task_history (
        seq {counter},
        task_id text not null references tasks (id),
        at text not null,
        actor_id text not null,
        what text not null,
        from_status text,
        to_status text,
        reason text
    );
    create index task_history_of on task_history (task_id, seq);
"""

# A row stays when its session loses the task: a late report still finds it.
_SESSIONS = """
    create table task_sessions (
        session_id text primary key,
        task_id text not null references tasks (id),
        agent_id text not null,
        project_id text not null,
        bound_at text not null,
        freed_at text
    );
    create unique index task_sessions_task on task_sessions (task_id) where freed_at is null;
    create index task_sessions_agent on task_sessions (agent_id, project_id)
        where freed_at is null;
"""

# Who put a task under its block, and through which task above it.
_BLOCKS = """
    alter table tasks add column blocked_by text;
    alter table tasks add column blocked_through text;
    update tasks set blocked_by = (
        select h.actor_id from task_history h where h.task_id = tasks.id
        and h.to_status = 'blocked' order by h.seq desc limit 1
    ) where status = 'blocked';
"""

# What the arguments under a key were; keys from before it have none.
_DIGESTS = "alter table task_keys add column digest text;"

# How often what a request asks for was changed: an answer is for one wording.
_WORDINGS = "alter table tasks add column wording integer not null default 1;"

# What was done in a project lately, and what was finished last, without looking at everything.
_RECENT = """
    alter table task_history add column project_id text;
    update task_history set project_id =
        (select t.project_id from tasks t where t.id = task_history.task_id);
    create index task_history_recent on task_history (project_id, seq);
    create index tasks_finished on tasks (project_id, updated_at, seq)
        where status in ('done', 'cancelled');
    create index tasks_blocked on tasks (project_id) where status = 'blocked';
    create index task_sessions_project on task_sessions (project_id) where freed_at is null;
"""

# Finished tasks that people put away; lists leave them out.
_ARCHIVED = "alter table tasks add column archived_at text;"

_COUNTERS = {
    "sqlite": "integer primary key autoincrement",
    "postgresql": "bigint generated always as identity primary key",
}

MIGRATIONS = [
    Migration(name=name, sql={engine: sql.format(counter=c) for engine, c in _COUNTERS.items()})
    for name, sql in (
        ("0001_tasks", _TASKS),
        ("0002_history", _HISTORY),
        ("0003_sessions", _SESSIONS),
        ("0004_blocks", _BLOCKS),
        ("0005_key_digests", _DIGESTS),
        ("0006_wordings", _WORDINGS),
        ("0007_recent", _RECENT),
        ("0008_archived", _ARCHIVED),
    )
]
