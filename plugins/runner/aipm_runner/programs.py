"""The programs there are: those of the settings, and adapters that need none."""

from __future__ import annotations

from aipm_core import CallError, PluginContext
from aipm_runner.api import RunnerAdapter, RunnerHooks
from aipm_runner.config import ProgramSettings, RunnerConfig


class Programs:
    """Finds a program and its adapter by name."""

    def __init__(self, ctx: PluginContext[RunnerConfig]) -> None:
        self._ctx = ctx

    def names(self) -> list[str]:
        """List the names that an agent's program may have."""
        bare = [name for name, adapter in self._adapters().items() if adapter.bare]
        return sorted({*self._ctx.config.programs, *bare})

    def knows(self, name: str) -> bool:
        """Return whether there is such a program."""
        return name in self.names()

    def find(self, name: str) -> tuple[RunnerAdapter, ProgramSettings]:
        """Return a program's adapter and settings; raises ``CallError`` with one sentence."""
        adapters, settings = self._adapters(), self._ctx.config.programs.get(name)
        if settings is None:
            adapter = adapters.get(name)
            if adapter is None or not adapter.bare:
                raise self._refused("program_unknown", program=name)
            return adapter, ProgramSettings(adapter=name)
        if settings.adapter not in adapters:
            raise self._refused("adapter_unknown", program=name, adapter=settings.adapter)
        return adapters[settings.adapter], settings

    def _adapters(self) -> dict[str, RunnerAdapter]:
        given = self._ctx.given(RunnerHooks.aipm_runner_adapters)
        return {owned.record.name: owned.record for owned in given}

    def _refused(self, key: str, **values: object) -> CallError:
        text = self._ctx.texts(f"problems.{key}", **values)
        return CallError(text, code="config_missing", status=409)
