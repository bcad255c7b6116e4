"""Takes away what nobody will read any more."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from aipm_core import PluginContext, Tx, background
from aipm_notifications.config import NotificationsConfig

logger = logging.getLogger(__name__)
_EVERY = 60.0
_DAY = 86_400.0
_BATCH = 500  # rows in one transaction, so that no writer waits long


class Sweeper:
    """Deletes unread notifications that have expired and read ones that are old."""

    def __init__(self, ctx: PluginContext[NotificationsConfig]) -> None:
        self._ctx = ctx

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Sweep now and then while the runtime lives."""
        async with background(notifications_sweeper=self._work):
            yield

    async def sweep(self) -> int:
        """Delete everything that is due; return how much it was."""
        deleted = 0
        while batch := await self._ctx.store.write(self._batch):
            deleted += batch
        return deleted

    async def _work(self) -> None:
        while True:
            await anyio.sleep(_EVERY)
            try:
                await self.sweep()
            except Exception:
                logger.exception("sweeping notifications failed; next try in %s s", _EVERY)

    async def _batch(self, tx: Tx) -> int:
        now = self._ctx.clock()
        expired = await tx.run(
            "delete from notifications where seq in (select seq from notifications "
            "where read_at is null and expires_at <= ? limit ?)",
            *(now, _BATCH),
        )
        old = await tx.run(
            "delete from notifications where seq in (select seq from notifications "
            "where read_at is not null and read_at <= ? limit ?)",
            *(now - self._ctx.config.keep_days * _DAY, _BATCH),
        )
        return expired + old
