"""A connection that has become a WebSocket."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from aipm_http_server.connections import connection_of
from aipm_http_server.endings import answer_and_close, close_or_drop


class Upgraded(WebSocketsSansIOProtocol):
    """Ends in order in every state, also when the upgrade itself came to nothing."""

    def data_received(self, data: bytes) -> None:
        """Read on; the whole request for the upgrade comes first, or it is none."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            sentence = "this is no request for a WebSocket: its lines are too long or too many"
            answer_and_close(self.transport, 400, "invalid_request", sentence)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        if (connection := connection_of({"state": self.app_state})) is not None:
            connection.leave()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Say good-bye."""
        close_or_drop(super().shutdown, self.transport)
