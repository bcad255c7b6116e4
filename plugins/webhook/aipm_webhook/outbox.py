"""What is to be sent, kept until it is there. Rows are written with the change they tell of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from aipm_core import Json, Migration, PluginContext, Row, Tx, new_id
from aipm_webhook.config import Kind, WebhookConfig

TOPIC = "webhook"
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 3600.0  # seconds
MIGRATIONS = [
    Migration(
        name="0001_webhook_outbox",
        sql="""
            create table webhook_outbox (
                id text primary key,
                body text not null,
                created_at real not null,
                tries integer not null default 0,
                due_at real not null
            );
            create index webhook_outbox_due on webhook_outbox (due_at);
        """,
    )
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One thing to send."""

    id: str
    body: bytes
    tries: int


class Outbox:
    """Puts things in, and hands out what is due."""

    def __init__(self, ctx: PluginContext[WebhookConfig]) -> None:
        self._ctx = ctx

    async def put(self, tx: Tx, kind: Kind, project_id: str, data: Mapping[str, Json]) -> None:
        """Put one thing in, if it is to be told at all."""
        if kind not in self._ctx.config.kinds:
            return
        body = {"type": kind, "timestamp": self._ctx.now(), "project_id": project_id, "data": data}
        now = self._ctx.clock()
        await tx.run(
            "insert into webhook_outbox (id, body, created_at, due_at) values (?, ?, ?, ?)",
            *(new_id("hook"), orjson.dumps(body).decode(), now, now),
        )
        tx.wake(TOPIC)

    async def due(self) -> Parcel | None:
        """Return what should be sent next."""
        row = await self._ctx.store.one(
            "select id, body, tries from webhook_outbox where due_at <= ? "
            "order by due_at, created_at limit 1",
            self._ctx.clock(),
        )
        return _parcel(row) if row else None

    async def pause(self) -> float:
        """Return how long it is until something is due."""
        row = await self._ctx.store.one("select min(due_at) as due from webhook_outbox")
        if row is None or row["due"] is None:
            return _LONGEST_PAUSE
        return float(min(max(row["due"] - self._ctx.clock(), 0.0), _LONGEST_PAUSE))

    async def settle(self, tx: Tx, parcel: Parcel, *, delivered: bool) -> None:
        """Forget what was delivered; put off what was not."""
        if delivered:
            await tx.run("delete from webhook_outbox where id = ?", parcel.id)
            return
        pause = min(_FIRST_PAUSE * 2**parcel.tries, _LONGEST_PAUSE)
        await tx.run(
            "update webhook_outbox set tries = tries + 1, due_at = ? where id = ?",
            *(self._ctx.clock() + pause, parcel.id),
        )


def _parcel(row: Row) -> Parcel:
    return Parcel(id=row["id"], body=row["body"].encode(), tries=row["tries"])
