"""Forgets old events and old command ids."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from aipm_core import PluginContext, Tx, background
from aipm_ui_gateway.config import UiGatewayConfig

_DAY, _HOUR = 86_400, 3600


class Sweeper:
    """Sweeps now and then; not at once, or every short command would pay for it."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig]) -> None:
        self._ctx = ctx

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Sweep while the runtime lives."""
        async with background(ui_sweeper=self._keep_sweeping):
            yield

    async def _keep_sweeping(self) -> None:
        while True:
            await anyio.sleep(self._ctx.config.sweep_seconds)
            await self.sweep()

    async def sweep(self) -> None:
        """Forget everything that is past its time."""
        config, now = self._ctx.config, self._ctx.clock()
        before = now - config.keep_events_days * _DAY
        while await self._ctx.events.sweep(before=before, keep=config.keep_events_per_session):
            pass

        async def commands(tx: Tx) -> None:
            await tx.run(
                "delete from ui_commands where at < ?", now - config.keep_commands_hours * _HOUR
            )

        await self._ctx.store.write(commands)
