"""The page of ``aipm up``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from aipm_http_server.api import Address, Route
from aipm_sessions.api import PEOPLE

from aipm_core import NoConfig, Plugin, hookimpl
from aipm_web_ui.api import PageHooks
from aipm_web_ui.files import Files
from aipm_web_ui.panels import PanelsRoute
from aipm_web_ui.serving import Modules, Shell


class WebUi(Plugin[NoConfig]):
    """A shell, its modules, and the panels of other plugins."""

    hooks = PageHooks
    requires = (PEOPLE,)

    @hookimpl(optionalhook=True)
    def aipm_addresses(self) -> Iterable[Address]:
        """Tell people where to look; to machines it is the server's own address."""
        yield Address(name="url", path="", title="page", hint="`aipm open` signs you in")

    @hookimpl(optionalhook=True)
    def aipm_routes(self) -> Iterable[Route]:
        """Serve the page."""
        files = cache(Files)  # read and packed when a server is built: commands need none of it
        panels = PanelsRoute(self.ctx, self.ctx.services.use(PEOPLE))
        yield Route(path="/", build=lambda _: Shell(files(), self.ctx.locale))
        yield Route(path="/ui/{version}/{name:path}", build=lambda _: Modules(files()))
        yield Route(path="/api/panels", build=lambda _: panels)
