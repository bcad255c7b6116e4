"""Brings tables up to date, one server at a time, all steps or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from asyncpg import PostgresError

from aipm_core import Migration, PluginError, StoreUnavailable
from aipm_store import migration_check
from aipm_store.postgres.dialect import definition
from aipm_store.postgres.error_kinds import told_apart
from aipm_store.postgres.named_locks import TABLE as TURNS
from aipm_store.schema import refuse_newer

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
            if missing := [m for m in migrations if m.name not in known.get(owner, ())]:
                migration_check.check(owner, migrations, "postgresql")
            for migration in missing:
                await _apply(connection, owner, migration)


async def _apply(connection: Any, owner: str, migration: Migration) -> None:  # noqa: ANN401
    try:
        await connection.execute(definition(migration.sql_for("postgresql")))
    except PostgresError as error:
        if isinstance(told_apart(error), StoreUnavailable):
            raise
        raise PluginError(owner, f"migration {migration.name} failed: {error}") from error
    await connection.execute(
        "insert into aipm_migrations (owner, name) values ($1, $2)", owner, migration.name
    )
