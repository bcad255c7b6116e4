"""Which provider answers: one of this plugin's own, or one that another plugin gave."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_agent_loop.api import AgentLoopHooks, ModelProvider, Provider
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.providers import models
from aipm_agent_loop.providers.scripted import Scripted, read_script
from aipm_core import ConfigError, PluginContext, PluginError


class ProviderChoice:
    """Chooses among the providers, and makes those that come with this plugin."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig]) -> None:
        self._ctx = ctx

    def own(self) -> Iterable[ModelProvider]:
        """Return the providers of this plugin."""
        yield ModelProvider(name="scripted", make=self._scripted)
        yield ModelProvider(name="pydantic_ai", make=self._model)

    def chosen(self) -> Provider:
        """Return the provider the settings name, ready to be used."""
        known: dict[str, ModelProvider] = {}
        given = self._ctx.given(AgentLoopHooks.aipm_model_providers)
        # Whoever takes a name of ours is at fault, though it may have been built before us.
        for owned in sorted(given, key=lambda owned: owned.plugin != self._ctx.name):
            name = owned.record.name
            if known.setdefault(name, owned.record) is not owned.record:
                raise PluginError(owned.plugin, f"provider {name!r} is given twice")
        wanted = self._ctx.config.provider
        if wanted not in known:
            names = ", ".join(sorted(known))
            raise ConfigError(f"[plugins.agent_loop] provider = {wanted!r}: known are {names}")
        return known[wanted].make()

    def _scripted(self) -> Provider:
        script = self._ctx.config.script
        return Scripted(read_script(self._ctx.home / script) if script else None)

    def _model(self) -> Provider:
        models.check(self._ctx.config)
        return models.PydanticAi(self._ctx.config)
