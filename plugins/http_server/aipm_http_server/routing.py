"""Finds the route of a request. Plain paths by dictionary, paths with places by Starlette."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.routing import compile_path

from aipm_core import Gateway, Owned, PluginError, StartupError, Store
from aipm_http_server.contained_route import ContainedRoute
from aipm_http_server.readiness import Readiness
from aipm_http_server.records import Asgi, Route
from aipm_http_server.responses import answer, send_json


class App:
    """The ASGI application behind the guard."""

    def __init__(self, gateway: Gateway, store: Store, routes: Iterable[Owned[Route]]) -> None:
        self._readiness = Readiness(store)
        self._plain: dict[str, dict[str, Asgi]] = {
            "/healthz": {"GET": self._alive},
            "/readyz": {"GET": self._ready},
        }
        self._placed: list[tuple[Any, Any, dict[str, Asgi]]] = []
        self.routes = list(routes)
        for owned in self.routes:
            self._add(owned.plugin, owned.record, _built(owned, gateway))

    def _add(self, plugin: str, route: Route, app: Asgi) -> None:
        methods = self._methods_of(route.path)
        for method in ("WEBSOCKET",) if route.websocket else route.methods:
            if method in methods:
                raise PluginError(plugin, f"route {method} {route.path} is already taken")
            methods[method] = app

    def _methods_of(self, path: str) -> dict[str, Asgi]:
        if "{" not in path:
            return self._plain.setdefault(path, {})
        pattern, _, convertors = compile_path(path)
        for known, _, methods in self._placed:
            if known == pattern:
                return methods
        self._placed.append((pattern, convertors, {}))
        return self._placed[-1][2]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Hand the request to its route, which finds this application in ``scope["app"]``."""
        scope["app"] = self
        methods = self._plain.get(scope["path"]) or self._match(scope)
        if methods is None:
            await answer(send, 404, "not_found", "there is nothing at this path", scope=scope)
            return
        method = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
        app = methods.get(method) or methods.get("*")
        if app is None:
            await answer(send, 405, "method_not_allowed", f"not with {method}", scope=scope)
            return
        await app(scope, receive, send)

    def _match(self, scope: Any) -> dict[str, Asgi] | None:  # noqa: ANN401
        for pattern, convertors, methods in self._placed:
            if found := pattern.match(scope["path"]):
                scope["path_params"] = {
                    name: convertors[name].convert(value)
                    for name, value in found.groupdict().items()
                }
                return methods
        return None

    async def _alive(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        await send_json(send, 200, {"status": "ok"})

    async def _ready(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        if await self._readiness():
            await send_json(send, 200, {"status": "ready"})
        else:
            await answer(send, 503, "not_ready", "the store cannot be used")


def _built(owned: Owned[Route], gateway: Gateway) -> Asgi:
    try:
        app = owned.record.build(gateway)
    except StartupError:
        raise
    except Exception as error:
        problem = f"route {owned.record.path} cannot be built: {error}"
        raise PluginError(owned.plugin, problem) from error
    return ContainedRoute(owned, app)
