"""The tables of this plugin.

``view_records`` holds the records as of a project's ``last_seq``; ``view_changes`` holds how they
came to be so, as far back as readers may be away. ``viewer`` is a person's id, or empty for every
member. A row of ``view_marks`` is a topic that a transaction woke and nobody has looked into yet.
Changes are kept of everything behind ``base_seq``.
Projects that nobody has looked at have no head, and nothing is kept for them.
"""

from __future__ import annotations

from aipm_core import Migration

_VIEWS = """
    create table view_heads (
        project_id text primary key,
        last_seq bigint not null,
        base_seq bigint not null,
        asked_at double precision not null
    );
    create table view_records (
        project_id text not null,
        viewer text not null,
        view text not null,
        id text not null,
        part text not null,
        record text not null,
        primary key (project_id, viewer, view, id)
    );
    create index view_records_part on view_records (project_id, view, part, id);
    create table view_changes (
        project_id text not null,
        seq bigint not null,
        view text not null,
        id text not null,
        viewer text not null,
        record text,
        primary key (project_id, seq)
    );
    create index view_changes_age on view_changes (seq);
    create table view_marks (n {counter}, topic text not null);
"""

_INBOX = """
    create table inbox_snoozes (
        project_id text not null,
        person_id text not null,
        item_id text not null,
        until text not null,
        at double precision not null,
        primary key (project_id, person_id, item_id)
    );
    create index inbox_snoozes_age on inbox_snoozes (at);
    create table inbox_handovers (
        project_id text not null,
        item_id text not null,
        from_id text not null,
        to_id text not null,
        note text,
        at double precision not null,
        primary key (project_id, item_id, from_id)
    );
    create index inbox_handovers_age on inbox_handovers (at);
"""

_COUNTERS = {
    "sqlite": "integer primary key autoincrement",
    "postgresql": "bigint generated always as identity primary key",
}

MIGRATIONS = [
    Migration(name=name, sql={engine: sql.format(counter=c) for engine, c in _COUNTERS.items()})
    for name, sql in (("0001_views", _VIEWS), ("0002_inbox", _INBOX))
]
