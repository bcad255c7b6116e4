"""What other plugins may use of operations: records, hooks, numbers."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_core import ServiceKey, hookspec
from aipm_operations.installed import INSTALLED, Installed, InstalledPlugin, PluginState, Why
from aipm_operations.metrics import Metrics
from aipm_operations.records import Finding, HealthCheck, Retention
from aipm_operations.retention import Sweeper, old_rows

__all__ = [
    "INSTALLED",
    "METRICS",
    "SWEEPER",
    "Finding",
    "HealthCheck",
    "Installed",
    "InstalledPlugin",
    "Metrics",
    "OperationsHooks",
    "PluginState",
    "Retention",
    "Sweeper",
    "Why",
    "old_rows",
]

METRICS = ServiceKey[Metrics]("operations.metrics")
SWEEPER = ServiceKey[Sweeper]("operations.sweeper")


class OperationsHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_retention(self) -> Iterable[Retention]:
        """How long the plugin's tables keep what nobody needs any more."""
        return ()

    @hookspec
    def aipm_health_checks(self) -> Iterable[HealthCheck]:
        """Questions for ``aipm doctor``."""
        return ()
