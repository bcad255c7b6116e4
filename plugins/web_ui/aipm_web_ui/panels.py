"""``GET /api/panels``: what plugins show on the page, for whoever is signed in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aipm_http_server.api import Receive, Scope, Send, answer, bearer, send_json
from aipm_sessions.api import People

from aipm_core import Json, PluginContext
from aipm_web_ui.api import PageHooks


class PanelsRoute:
    """An ASGI application that lists the panels."""

    def __init__(self, ctx: PluginContext[Any], people: People) -> None:
        self._ctx = ctx
        self._people = people

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a person; a panel says nothing secret, but it is nobody else's."""
        if await self._people.person_of(bearer(scope["headers"]) or "") is None:
            refusal = self._ctx.refuse("ui_token_required", 401)
            await answer(send, refusal.status, refusal.code, str(refusal))
            return
        await send_json(send, 200, {"panels": self._listed()})

    def _listed(self) -> list[dict[str, Json]]:
        return [
            {"plugin": owned.plugin, **asdict(owned.record)}
            for owned in self._ctx.given(PageHooks.aipm_panels)
        ]
