"""Everything that is stored, to be compared: a refused call leaves nothing behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

# Written beside the calls, by upkeep and by what only follows what was stored.
_MOVING = {
    "sessions": {"last_seen", "ended_at", "end_reason"},
    "ui_sessions": {"last_used"},
    "ui_tokens": {"last_used_at"},
    "agent_threads": {"beat"},
}
_ONLY_GROWS = frozenset({"events"})
_LEFT_OUT = (
    *("chat_", "messages_search", "sqlite_", "login_attempts", "policy_audit"),
    "policy_calls",
    *("clock_course", "view_"),
)


@dataclass(frozen=True)
class Snapshot:
    """What every table holds, as one text a table."""

    tables: dict[str, str]

    @classmethod
    def of(cls, database: Path) -> Snapshot:
        """Read a database that others write to."""
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            found = connection.execute("select name from sqlite_master where type = 'table'")
            names = [name for (name,) in found if not name.startswith(_LEFT_OUT)]
            return cls({name: _content(connection, name) for name in names})

    def changes_since(self, before: Snapshot) -> list[str]:
        """Name the tables that are different, with the end of what they hold."""
        return [
            f"{table}: …{content[-300:]}"
            for table, content in self.tables.items()
            if content != before.tables[table]
        ]


@contextmanager
def untouched(database: Path, *, unless: bool = False) -> Iterator[None]:
    """Check that a block changes nothing that is stored."""
    before = None if unless else Snapshot.of(database)
    yield
    if before is not None:
        changes = Snapshot.of(database).changes_since(before)
        assert changes == [], changes  # said in words: pytest does not look into this module


def _content(connection: sqlite3.Connection, table: str) -> str:
    if table in _ONLY_GROWS:
        return str(connection.execute(f"select count(*) from {table}").fetchone()[0])
    columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
    shown = [f"quote({name})" for name in columns if name not in _MOVING.get(table, set())]
    sql = f"select group_concat({' || '.join(shown)}, char(10)) from {table}"
    return str(connection.execute(sql).fetchone()[0])
