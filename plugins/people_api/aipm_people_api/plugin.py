"""People's API: every tool for people is an endpoint."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_http_server.api import Route
from aipm_sessions.api import PEOPLE_LOGINS, PERSON_CALLS

from aipm_core import Plugin, PluginContext, hookimpl
from aipm_people_api.config import PeopleApiConfig
from aipm_people_api.logins import Logins
from aipm_people_api.openapi import OpenApi
from aipm_people_api.tools import PeoplesTools


class PeopleApi(Plugin[PeopleApiConfig]):
    """Logins, tools and their description."""

    config_model = PeopleApiConfig
    requires = (PEOPLE_LOGINS, PERSON_CALLS)

    def __init__(self, ctx: PluginContext[PeopleApiConfig]) -> None:
        super().__init__(ctx)
        self._logins = Logins(ctx, ctx.services.use(PEOPLE_LOGINS))
        self._tools = PeoplesTools(ctx, ctx.services.use(PERSON_CALLS))
        self._openapi = OpenApi(ctx)

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Open the doors for people's programs."""
        logins, tools, openapi = self._logins, self._tools, self._openapi
        yield Route(path="/api/login", build=logins.login, methods=("POST",))
        yield Route(path="/api/logout", build=logins.logout, methods=("POST",))
        yield Route(path="/api/tools", build=tools.listing)
        # A tool has a deadline of its own, and may wait for a person.
        yield Route(path="/api/tools/{name}", build=tools.calling, methods=("POST",), deadline=None)
        yield Route(path="/api/openapi.json", build=openapi.route)
