"""Brings tables up to date, one server at a time, all steps or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aipm_core.store.port import Migration
from aipm_core.store.postgres.dialect import definition
from aipm_core.store.postgres.turns import TABLE as TURNS
from aipm_core.store.schema import refuse_newer

_LOCK = 0x6169706D_0001  # "aipm", then which lock
_TABLE = """
    create table if not exists aipm_migrations (
        owner text not null,
        name text not null,
        applied_at timestamptz not null default now(),
        primary key (owner, name)
    )
"""


async def update(connection: Any, sets: Mapping[str, Sequence[Migration]]) -> None:  # noqa: ANN401
    """Apply what is missing."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(_TABLE)
        await connection.execute(TURNS)
        known: dict[str, list[str]] = {}
        for row in await connection.fetch("select owner, name from aipm_migrations"):
            known.setdefault(row["owner"], []).append(row["name"])
        refuse_newer(known, sets)
        for owner, migrations in sets.items():
            for migration in migrations:
                if migration.name not in known.get(owner, ()):
                    await connection.execute(definition(migration.sql_for("postgresql")))
                    await connection.execute(
                        "insert into aipm_migrations (owner, name) values ($1, $2)",
                        *(owner, migration.name),
                    )
