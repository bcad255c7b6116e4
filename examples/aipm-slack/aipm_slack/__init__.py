"""Tells a Slack channel of blocked tasks: exactly what happened, at least once, in order."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

from aipm_tasks.api import TaskChange, TaskObserver

from aipm_core import (
    Lifespan,
    Migration,
    Plugin,
    PluginConfig,
    Row,
    ServeMode,
    Tx,
    background,
    hookimpl,
)

_WAIT_SECONDS = 3600.0


class SlackConfig(PluginConfig):
    """Settings of ``[plugins.slack]``."""

    url: str = ""
    """The address of the channel's incoming webhook; it is a secret."""


class Slack(Plugin[SlackConfig]):
    """Posts blocked tasks. Off until it has an address."""

    aipm_api = 1
    config_model = SlackConfig

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        table = "create table slack_outbox (id integer primary key autoincrement, text text);"
        yield Migration(name="0001_outbox", sql=table)

    @hookimpl(optionalhook=True)
    def aipm_task_observers(self) -> Iterable[TaskObserver]:
        if self.ctx.config.url:
            yield TaskObserver(name="slack", changed=self._changed)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        if self.ctx.config.url:
            served = frozenset({ServeMode.SERVER})
            yield Lifespan(name="slack", open=self._sending, serving=served)

    async def _changed(self, tx: Tx, change: TaskChange) -> None:
        """Note it in the transaction that blocks the task: both happen, or neither."""
        if change.task.status == "blocked" and change.previous not in (None, "blocked"):
            text = f"{change.task.title}: blocked ({change.reason or 'no reason given'})"
            await tx.run("insert into slack_outbox (text) values (?)", text)
            tx.wake("slack")

    @asynccontextmanager
    async def _sending(self) -> AsyncGenerator[None]:
        async with background(slack=self._send_all):  # started again when Slack is away
            yield

    async def _send_all(self) -> None:
        store = self.ctx.store
        while not store.ending:
            row = await store.wait_until(("slack",), self._next, _WAIT_SECONDS)
            if row is not None:
                await asyncio.to_thread(self._post, row["text"])  # it blocks, so in a thread
                sql, number = "delete from slack_outbox where id = ?", row["id"]
                await store.write(lambda tx, number=number, sql=sql: tx.run(sql, number))  # type: ignore[misc]

    async def _next(self) -> Row | None:
        return await self.ctx.store.one("select id, text from slack_outbox order by id limit 1")

    def _post(self, text: str) -> None:
        body, headers = json.dumps({"text": text}).encode(), {"content-type": "application/json"}
        request = urllib.request.Request(self.ctx.config.url, body, headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=10):  # noqa: S310
            pass
