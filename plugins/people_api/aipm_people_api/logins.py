"""``POST /api/login`` and ``POST /api/logout``."""

from __future__ import annotations

from typing import Any

from aipm_http_server.api import Asgi, bearer
from aipm_sessions.api import PeopleLogins, PersonLogin

from aipm_core import Gateway, Json, PluginContext
from aipm_people_api.config import PeopleApiConfig
from aipm_people_api.requests import application, body_of, person_of

_WAYS = ({"code"}, {"agent_id", "passkey"})
_LONGEST = 1000  # characters


class Logins:
    """Two ways in, one way out."""

    def __init__(self, ctx: PluginContext[PeopleApiConfig], logins: PeopleLogins) -> None:
        self._ctx = ctx
        self._logins = logins

    def login(self, _: Gateway) -> Asgi:
        """Return the application that logs people in."""

        async def login(scope: Any, receive: Any) -> tuple[int, Json]:  # noqa: ANN401
            body = await body_of(self._ctx, scope, receive)
            made = await self._logged_in(body, scope["client"][0] if scope["client"] else "")
            person = made.person
            shown = {"id": person.id, "name": person.name, "role": person.role}
            return 200, {"token": made.token, "expires_in": made.expires_in, "person": shown}

        return application(login)

    async def _logged_in(self, body: dict[str, Json], address: str) -> PersonLogin:
        plain = all(isinstance(value, str) and len(value) <= _LONGEST for value in body.values())
        if set(body) not in _WAYS or not plain:
            raise self._ctx.refuse("invalid_arguments", 400, reason=self._ctx.texts("body.login"))
        if "code" in body:
            return await self._logins.with_code(body["code"], address)
        return await self._logins.with_passkey(body["agent_id"], body["passkey"])

    def logout(self, gateway: Gateway) -> Asgi:
        """Return the application that ends the token it is called with."""

        async def logout(scope: Any, receive: Any) -> tuple[int, Json]:  # noqa: ANN401
            await person_of(self._ctx, gateway, scope)
            await self._logins.end(bearer(scope["headers"]) or "")
            return 200, {"success": True}

        return application(logout)
