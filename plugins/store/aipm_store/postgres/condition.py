"""What ``aipm doctor`` is told of the database and of the servers that use it."""

from __future__ import annotations

from aipm_core import Row
from aipm_store.keeping import Condition

_CLOSE_ENOUGH = 1.0  # seconds
CONDITION = """
    select current_setting('server_version') as version,
    current_setting('synchronous_commit') as commits,
    current_setting('fsync') as flushes, pg_database_size(current_database()) as size,
    current_setting('max_connections')::int as most,
    (select count(*) from pg_stat_activity) as used,
    (select count(*) from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and not l.granted) as waiting
"""


def condition_of(row: Row | None, ahead: float) -> Condition:
    """Say whether the data is safe there, and what an operator would want to know."""
    if row is None or row["commits"] == "off" or row["flushes"] == "off":
        problem = "the server runs with fsync or synchronous_commit off: it may lose writes"
        return Condition(sound=False, message=problem)
    said = [
        f"PostgreSQL {row['version']} answers ({row['size'] / 1e6:.1f} MB)",
        f"{row['used']} of {row['most']} connections are used",
    ]
    if row["waiting"]:
        said.append(f"{row['waiting']} wait for a lock of another server")
    if abs(ahead) >= _CLOSE_ENOUGH:
        side = "behind" if ahead > 0 else "ahead of"
        said.append(
            f"the clock of this machine is {abs(ahead):.1f} s {side} the database's, which counts"
        )
    return Condition(sound=True, message=", ".join(said))
