"""Sends what is in the outbox, one thing at a time, by one process of all."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aipm_core import PluginContext, background
from aipm_webhook.config import WebhookConfig
from aipm_webhook.outbox import TOPIC, Outbox, Parcel
from aipm_webhook.signing import signature

logger = logging.getLogger(__name__)
_PATIENCE = 5.0  # seconds for the receiver


class _NoRedirect(HTTPRedirectHandler):
    """What is sent goes where the settings say, and nowhere else."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


class Delivery:
    """Keeps sending while the program serves."""

    def __init__(self, ctx: PluginContext[WebhookConfig], outbox: Outbox) -> None:
        self._ctx = ctx
        self._outbox = outbox
        self._opener = build_opener(_NoRedirect)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Send while the block runs."""
        async with background(webhook=self._keep_sending):
            yield

    async def _keep_sending(self) -> None:
        store = self._ctx.store
        while not store.ending:
            pause = max(await self._outbox.pause(), 0.1)
            if await store.wait_until((TOPIC,), self._outbox.due, pause) is not None:
                async with store.turn("webhook"):
                    await self._send_next()

    async def _send_next(self) -> None:
        parcel = await self._outbox.due()  # another process may have sent it meanwhile
        if parcel is None:
            return
        problem = await asyncio.to_thread(self._post, parcel)
        if problem is not None:
            logger.warning("webhook: %s is not delivered (%s)", parcel.id, problem)
        delivered = problem is None
        await self._ctx.store.write(lambda tx: self._outbox.settle(tx, parcel, delivered=delivered))

    def _post(self, parcel: Parcel) -> str | None:
        """Send one thing; return what went wrong, in words without the address."""
        moment, config = str(int(time.time())), self._ctx.config
        signed = signature(config.secret.get_secret_value(), parcel.id, moment, parcel.body)
        headers = {
            "content-type": "application/json",
            "user-agent": "aipm",
            "webhook-id": parcel.id,
            "webhook-timestamp": moment,
            "webhook-signature": signed,
        }
        request = Request(config.url, parcel.body, headers, method="POST")  # noqa: S310 - checked
        try:
            with self._opener.open(request, timeout=_PATIENCE):
                return None
        except HTTPError as error:
            return f"the receiver answered {error.code}"
        except (OSError, ValueError) as error:
            return f"the receiver cannot be reached: {type(error).__name__}"
