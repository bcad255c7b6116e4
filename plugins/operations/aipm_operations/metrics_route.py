"""``/metrics``: numbers for Prometheus, for whoever has a token of this server."""

from __future__ import annotations

from aipm_http_server.api import Asgi, Receive, Scope, Send, answer, bearer

from aipm_core import Gateway
from aipm_operations.metrics import Metrics


class MetricsRoute:
    """An ASGI application that answers with everything that was counted."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def build(self, gateway: Gateway) -> Asgi:
        """Return the application."""

        async def metrics(scope: Scope, receive: Receive, send: Send) -> None:
            token = bearer(scope["headers"])
            if token is None or not await gateway.knows(token):
                message = "send a session's or a person's token: Authorization: Bearer …"
                await answer(send, 401, "authentication_required", message)
                return
            await _send_text(send, self._metrics.text())

        return metrics


async def _send_text(send: Send, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})
