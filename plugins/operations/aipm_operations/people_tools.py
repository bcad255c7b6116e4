"""What people ask about the plugins: which there are, and whether one is well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, NoArguments, PluginContext, tool
from aipm_operations.api import OperationsHooks
from aipm_operations.health import ask
from aipm_operations.installed import INSTALLED, InstalledPlugin

_CHECK_SECONDS = 90.0  # a check of a large installation reads many files


class CheckPlugin(Arguments):
    """Arguments of ``check_plugin``."""

    name: str = Field(max_length=64)


class PeoplesTools:
    """Everybody may know what runs; only managers make it look at itself, which costs something."""

    def __init__(self, ctx: PluginContext[Any]) -> None:
        self._ctx = ctx

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        yield tool(self.list_plugins, access=Access.PERSON, audience="ui", read_only=True)
        yield tool(
            self.check_plugin,
            access=Access.MANAGER,
            audience="ui",
            read_only=True,
            deadline=_CHECK_SECONDS,
        )

    async def list_plugins(self, call: Call, args: NoArguments) -> Json:
        """Return every installed plugin: on, off or failed, why, and what hangs on it."""
        return {"plugins": [_shown(one) for one in self._installed()]}

    async def check_plugin(self, call: Call, args: CheckPlugin) -> Json:
        """Ask a plugin's own questions of the doctor."""
        if args.name not in {one.name for one in self._installed()}:
            raise self._ctx.refuse("plugin_not_found", 404)
        checks = self._ctx.given(OperationsHooks.aipm_health_checks)
        found = [await ask(owned) for owned in checks if owned.plugin == args.name]
        return {
            "checked_at": self._ctx.now(),
            "findings": [{"name": name, **asdict(finding)} for name, finding in found],
        }

    def _installed(self) -> list[InstalledPlugin]:
        program = self._ctx.services.find(INSTALLED)
        if program is None:
            raise self._ctx.refuse("plugins_unknown", 409)
        return program.plugins()


def _shown(plugin: InstalledPlugin) -> dict[str, Json]:
    facts = asdict(plugin)
    return {name: list(v) if isinstance(v, tuple) else v for name, v in facts.items()}
