"""The webhook: off until it has an address."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from aipm_operations.api import Retention, old_rows
from aipm_policy.api import Confirmation, ConfirmationObserver
from aipm_tasks.api import TaskChange, TaskObserver

from aipm_core import Lifespan, Migration, Plugin, PluginContext, ServeMode, Tx, hookimpl
from aipm_webhook.config import WebhookConfig
from aipm_webhook.outbox import MIGRATIONS, Outbox

if TYPE_CHECKING:
    from aipm_runner.api import RunEnd, RunObserver

_WELL = frozenset({"ok", "stopped_by_person", "runner_stopped"})
_FORGET = (
    "delete from webhook_outbox where id in "
    "(select id from webhook_outbox where created_at < ? limit ?)"
)


class Webhook(Plugin[WebhookConfig]):
    """Sends confirmations, blocked tasks and failed runs to an address."""

    config_model = WebhookConfig

    def __init__(self, ctx: PluginContext[WebhookConfig]) -> None:
        super().__init__(ctx)
        self._on = bool(ctx.config.url)
        self._outbox = Outbox(ctx)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own what is to be sent."""
        return MIGRATIONS

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Send while the server runs."""
        if self._on:
            served = frozenset({ServeMode.SERVER})
            yield Lifespan(name="webhook", open=self._delivering, serving=served)

    @hookimpl(optionalhook=True)
    def aipm_retention(self) -> Iterable[Retention]:
        """Give up what could not be sent for days."""
        days = self.ctx.config.keep_days
        yield Retention(name="webhook_outbox", days=days, forget=old_rows(_FORGET))

    @hookimpl(optionalhook=True)
    def aipm_confirmation_observers(self) -> Iterable[ConfirmationObserver]:
        """Tell of questions to people."""
        if self._on:
            yield ConfirmationObserver(name="webhook", asked=self._asked)

    @hookimpl(optionalhook=True)
    def aipm_task_observers(self) -> Iterable[TaskObserver]:
        """Tell of tasks that do not go on."""
        if self._on:
            yield TaskObserver(name="webhook", changed=self._changed)

    @hookimpl(optionalhook=True)
    def aipm_run_observers(self) -> Iterable[RunObserver]:
        """Tell of runs that failed."""
        if self._on:
            from aipm_runner.api import RunObserver

            yield RunObserver(name="webhook", ended=self._ended)

    def _delivering(self) -> AbstractAsyncContextManager[None]:
        from aipm_webhook.delivery import Delivery  # only who sends needs a client

        return Delivery(self.ctx, self._outbox).lifespan()

    async def _asked(self, tx: Tx, asked: Confirmation) -> None:
        told = {"confirmation_id": asked.id, "agent_id": asked.agent_id, "tool": asked.tool}
        told |= {"level": asked.level}
        await self._outbox.put(tx, "confirmation_asked", asked.project_id, told)

    async def _changed(self, tx: Tx, change: TaskChange) -> None:
        task = change.task
        if task.status != "blocked" or change.previous in (None, "blocked"):
            return
        told = {"task_id": task.id, "title": task.title, "agent_id": task.assignee_id}
        told |= {"actor_id": change.actor_id, "reason": change.reason}
        await self._outbox.put(tx, "task_blocked", task.project_id, told)

    async def _ended(self, tx: Tx, end: RunEnd) -> None:
        if end.reason in _WELL:
            return
        told = {"run_id": end.run_id, "agent_id": end.agent_id, "task_id": end.task_id}
        await self._outbox.put(tx, "run_failed", end.project_id, told | {"reason": end.reason})
