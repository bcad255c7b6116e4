"""``GET /api/tools`` and ``POST /api/tools/{name}``."""

from __future__ import annotations

from typing import Any

from aipm_http_server.api import Asgi, idempotency_key
from aipm_sessions.api import PersonCalls, RememberedCall

from aipm_core import AnyTool, Gateway, Json, PluginContext, Request, Trait
from aipm_people_api.config import PeopleApiConfig
from aipm_people_api.requests import application, body_of, person_of


class PeoplesTools:
    """Lists and calls what a person may use; everything else the pipeline decides."""

    def __init__(self, ctx: PluginContext[PeopleApiConfig], calls: PersonCalls) -> None:
        self._ctx = ctx
        self._calls = calls

    def listing(self, gateway: Gateway) -> Asgi:
        """Return the application that lists the caller's tools."""

        async def listing(scope: Any, receive: Any) -> tuple[int, Json]:  # noqa: ANN401
            person = await person_of(self._ctx, gateway, scope)
            tools = [
                described(gateway, tool)
                for tool in gateway.catalog("ui")
                if await gateway.refusal(tool, person) is None
            ]
            return 200, {"tools": tools}

        return application(listing)

    def calling(self, gateway: Gateway) -> Asgi:
        """Return the application that calls one tool."""

        async def calling(scope: Any, receive: Any) -> tuple[int, Json]:  # noqa: ANN401
            person = await person_of(self._ctx, gateway, scope)
            name: str = scope["path_params"]["name"]
            arguments = await body_of(self._ctx, scope, receive)
            once = self._once(scope, name, arguments)
            request = Request(
                tool=name, arguments=arguments, session=person, audience="ui", once=once
            )
            reply = await gateway.call(request)
            tool = gateway.find_tool(name, "ui")
            if once is not None and tool is not None and _is_kept(tool):
                await once.settle(reply)
            return reply.error.status if reply.error else 200, reply.envelope()

        return application(calling)

    def _once(self, scope: Any, tool: str, arguments: dict[str, Json]) -> RememberedCall | None:  # noqa: ANN401
        try:
            key = idempotency_key(scope["headers"])
        except ValueError as error:
            raise self._ctx.refuse("invalid_key", 400, longest=str(error)) from None
        if key is None:
            return None
        conflict = self._ctx.refuse("idempotency_conflict", 409)
        return self._calls.once(key, tool, arguments, conflict)


def _is_kept(tool: AnyTool) -> bool:
    return not tool.read_only and Trait.KEEPS_NO_RESULT not in tool.traits


def described(gateway: Gateway, tool: AnyTool) -> dict[str, Json]:
    """Return a tool as people's programs are shown it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": dict(gateway.schema(tool.name, "ui")),
    }
