"""Which provider answers: those of this plugin, and those other plugins bring."""

from __future__ import annotations

from collections.abc import Callable

from aipm_agent_loop.api import Provider
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.providers import models
from aipm_agent_loop.providers.scripted import Scripted, read_script
from aipm_core import ConfigError, PluginContext


class Provision:
    """The ``Providers`` service."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig]) -> None:
        self._ctx = ctx
        self._makers: dict[str, Callable[[], Provider]] = {
            "scripted": self._scripted,
            "pydantic_ai": self._model,
        }

    def add(self, name: str, provider: Provider) -> None:
        """Offer a provider."""
        if name in self._makers:
            raise ValueError(f"provider {name!r} is added twice")
        self._makers[name] = lambda: provider

    def chosen(self) -> Provider:
        """Return the provider the settings name, ready to be used."""
        wanted = self._ctx.config.provider
        if wanted not in self._makers:
            known = ", ".join(sorted(self._makers))
            raise ConfigError(f"[plugins.agent_loop] provider = {wanted!r}: known are {known}")
        return self._makers[wanted]()

    def _scripted(self) -> Provider:
        script = self._ctx.config.script
        return Scripted(read_script(self._ctx.home / script) if script else None)

    def _model(self) -> Provider:
        models.check(self._ctx.config)
        return models.PydanticAi(self._ctx.config)
