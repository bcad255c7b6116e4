"""For tests of plugins: a real runtime with only the plugins you name, on a store of its own."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from aipm_core.clock import Clock, system_clock
from aipm_core.config import PluginSettings, Settings
from aipm_core.context import Plugin, PluginClass
from aipm_core.contributions import Authenticator
from aipm_core.hookspecs import hookimpl
from aipm_core.models import Json, Reply, Request, Session
from aipm_core.runtime import Runtime, open_runtime
from aipm_core.texts import Locale

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

    async def call_with_token(self, tool: str, token: str | None, /, **arguments: Json) -> Reply:
        """Call a tool with a credential, as a transport would."""
        return await self.runtime.call(Request(tool=tool, arguments=arguments, credential=token))


@asynccontextmanager
async def running(
    *plugins: PluginClass,
    data_dir: Path | None = None,
    locale: Locale = "ja",
    clock: Clock = system_clock,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    **tables: Mapping[str, Any],
) -> AsyncGenerator[TestRuntime]:
    """Run with the named plugins and the known sessions.

    Any other keyword is one plugin's settings; ``settings`` holds them by plugin name, for a
    plugin whose name is taken here (``clock``).
    """
    classes: dict[str, PluginClass] = {"known_sessions": KnownSessions}
    classes |= {name_of(plugin): plugin for plugin in plugins}
    given = {**(settings or {}), **tables}
    checked = {name: PluginSettings.model_validate(table) for name, table in given.items()}
    with tempfile.TemporaryDirectory(prefix="aipm-") as temporary:
        chosen = Settings(data_dir=data_dir or Path(temporary), locale=locale, plugins=checked)
        async with open_runtime(chosen, classes, clock) as runtime:
            yield TestRuntime(runtime)


def name_of(plugin: PluginClass) -> str:
    """Return the entry-point name that belongs to a plugin class: ``FileChat``, ``file_chat``."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in plugin.__name__).lstrip("_")
