"""For tests of plugins: a real runtime with only the plugins you name, on a store of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from aipm_cli import discovery
from aipm_cli.program import open_runtime
from aipm_cli.settings import PluginSettings, settings_model
from aipm_http_server.api import HTTP_SERVER
from aipm_operations.api import SWEEPER
from pydantic import BaseModel

from aipm_core import (
    Authenticator,
    Clock,
    Json,
    Locale,
    Plugin,
    PluginClass,
    Reply,
    Request,
    ServeMode,
    Session,
    hookimpl,
    system_clock,
)
from aipm_core.host import Runtime

_HOST = ("http_server", "operations")
TASK = Session(id="s-task", agent_id="agent-a", project_id="p", purpose="task")
CHAT = replace(TASK, id="s-chat", purpose="chat")
MANAGER = replace(TASK, id="s-manager", agent_id="agent-m", role="manager")


class KnownSessions(Plugin):
    """Accepts a session's id as its credential."""

    known = (TASK, CHAT, MANAGER)

    @hookimpl
    def aipm_authenticators(self) -> list[Authenticator]:
        """Offer the fixed sessions."""
        return [Authenticator(name="known", resolve=self._resolve)]

    async def _resolve(self, credential: str) -> Session | None:
        return next((s for s in self.known if s.id == credential), None)


class TestRuntime:
    """A runtime with a shorter way to call."""

    __test__ = False

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    async def call(self, tool: str, session: Session | None = TASK, /, **arguments: Json) -> Reply:
        """Call a tool as the given session."""
        return await self.runtime.call(Request(tool=tool, arguments=arguments, session=session))

    async def sweep(self, *names: str) -> int:
        """Delete what is past its time, of everything or of some; return how many rows went."""
        return await self.runtime.services.use(SWEEPER).sweep(*names)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[str]:
        """Serve HTTP until the block ends, then stop as SIGTERM stops it; yields the address."""
        server = self.runtime.services.use(HTTP_SERVER)
        serving = asyncio.create_task(self._serve())
        answering = asyncio.create_task(server.url())
        try:
            await asyncio.wait({serving, answering}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving  # it failed, and says why
            yield await answering
        finally:
            answering.cancel()
            self.runtime.engine.end_waits()
            server.stop()
            await serving

    async def _serve(self) -> None:
        async with self.runtime.serving(ServeMode.SERVER):
            await self.runtime.serve(ServeMode.SERVER)

    async def call_with_token(self, tool: str, token: str | None, /, **arguments: Json) -> Reply:
        """Call a tool with a credential, as a transport would."""
        return await self.runtime.call(Request(tool=tool, arguments=arguments, credential=token))


@asynccontextmanager
async def running(
    *plugins: PluginClass,
    data_dir: Path | None = None,
    locale: Locale = "ja",
    clock: Clock = system_clock,
    steady: Clock | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    sections: Mapping[str, BaseModel] | None = None,
    **tables: Mapping[str, Any],
) -> AsyncGenerator[TestRuntime]:
    """Run with the named plugins, the known sessions, and the parts every program has.

    Any other keyword is one plugin's settings; ``settings`` holds them by plugin name, for a
    plugin whose name is taken here (``clock``), ``sections`` the tables at the top of the file.
    Time that passes on a ``clock`` of one's own has passed; with a ``steady`` one beside it, it
    may also have jumped.
    """
    classes: dict[str, PluginClass] = {"known_sessions": KnownSessions, **_host_plugins()}
    classes |= {name_of(plugin): plugin for plugin in plugins}
    given = {**(settings or {}), **tables}
    checked = {name: PluginSettings.model_validate(table) for name, table in given.items()}
    with tempfile.TemporaryDirectory(prefix="aipm-") as temporary:
        table: dict[str, Any] = {"data_dir": data_dir or Path(temporary), "plugins": checked}
        chosen = settings_model()(**{**table, "locale": locale, **(sections or {})})
        async with open_runtime(chosen, classes, clock, steady) as runtime:
            yield TestRuntime(runtime)


@cache
def _host_plugins() -> dict[str, PluginClass]:
    ours = (found for found in discovery.installed() if found.first_party)
    return {found.name: found.load() for found in ours if found.name in _HOST}


def name_of(plugin: PluginClass) -> str:
    """Return the entry-point name that belongs to a plugin class: ``FileChat``, ``file_chat``."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in plugin.__name__).lstrip("_")
