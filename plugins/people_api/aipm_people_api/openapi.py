"""``GET /api/openapi.json``: every route and every tool for people, as OpenAPI 3.1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from aipm_http_server.api import Asgi, Route

from aipm_core import AnyTool, Gateway, Json, Owned, PluginContext
from aipm_people_api.config import PeopleApiConfig
from aipm_people_api.requests import application, person_of

_PLACE = re.compile(r"{(\w+)(?::\w+)?}")
_OPEN = frozenset({"/healthz", "/readyz", "/api/login", "/schema/events.json", "/mcp"})
_CALL = "/api/tools/{name}"
_ERROR = {"$ref": "#/components/responses/Error"}
_STRING = {"type": "string"}


class OpenApi:
    """Describes the running server. What is there depends on the plugins, so it needs a token."""

    def __init__(self, ctx: PluginContext[PeopleApiConfig]) -> None:
        self._ctx = ctx

    def route(self, gateway: Gateway) -> Asgi:
        """Return the application that tells the description."""

        async def tell(scope: Any, receive: Any) -> tuple[int, Json]:  # noqa: ANN401
            await person_of(self._ctx, gateway, scope)
            return 200, describe(gateway, scope["app"].routes)

        return application(tell)


def describe(gateway: Gateway, routes: Iterable[Owned[Route]]) -> dict[str, Json]:
    """Return the description of these routes and of the gateway's tools for people."""
    paths: dict[str, dict[str, Json]] = {}
    for path in ("/healthz", "/readyz"):
        paths[path] = {"get": _operation("get", path, "http_server")}
    for owned in routes:
        route = owned.record
        methods = ("get",) if route.websocket else tuple(_named(route.methods))
        for method in methods:
            made = _operation(method, route.path, owned.plugin)
            paths.setdefault(_plain(route.path), {})[method] = made
    for tool in gateway.catalog("ui"):
        path = _CALL.replace("{name}", tool.name)
        paths[path] = {"post": _tool_operation(tool, gateway.schema(tool.name, "ui"))}
    return {
        "openapi": "3.1.0",
        "info": {"title": "aipm", "version": version("aipm-runtime")},
        "paths": paths,
        "components": _COMPONENTS,
        "security": [{"bearer": []}],
    }


def _named(methods: Iterable[str]) -> Iterable[str]:
    for method in methods:
        yield from ("get", "post", "delete") if method == "*" else (method.lower(),)


def _plain(path: str) -> str:
    return _PLACE.sub(r"{\1}", path)


def _operation(method: str, path: str, plugin: str) -> dict[str, Json]:
    places = [
        {"name": name, "in": "path", "required": True, "schema": _STRING}
        for name in _PLACE.findall(path)
    ]
    made: dict[str, Json] = {
        "operationId": f"{method}{re.sub('[^A-Za-z0-9]+', '_', path)}",
        "tags": [plugin],
        "responses": {"default": _ERROR, "200": {"description": "Done."}},
    }
    if places:
        made["parameters"] = places
    if path == "/api/login":
        made["requestBody"] = _body({"$ref": "#/components/schemas/Login"})
    return {**made, "security": []} if path in _OPEN else made


def _tool_operation(tool: AnyTool, schema: Json) -> dict[str, Json]:
    return {
        "operationId": tool.name,
        "tags": ["tools"],
        "summary": tool.title,
        "description": tool.description,
        "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
        "requestBody": _body(dict(schema)),
        "responses": {
            "200": _answer("The result.", {"$ref": "#/components/schemas/Result"}),
            "default": _ERROR,
        },
    }


def _body(schema: Json) -> dict[str, Json]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _answer(description: str, schema: Json) -> dict[str, Json]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _object(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_FAILURE = _object(code=_STRING, status={"type": "integer"}, message=_STRING)
_COMPONENTS: dict[str, Json] = {
    "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
    "parameters": {
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        }
    },
    "responses": {"Error": _answer("Refused.", _object(error=_FAILURE))},
    "schemas": {
        "Result": _object(result={}),
        "Login": {
            "oneOf": [_object(code=_STRING), _object(agent_id=_STRING, passkey=_STRING)],
        },
    },
}
