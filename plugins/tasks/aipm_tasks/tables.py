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
    )
]
