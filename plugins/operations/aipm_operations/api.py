"""What other plugins may use of operations: records, hooks, numbers."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_core import ServiceKey, hookspec
from aipm_operations.installed import INSTALLED, Installed, InstalledPlugin, PluginState, Why
from aipm_operations.metrics import Metrics
from aipm_operations.records import Finding, HealthCheck, Retention
from aipm_operations.redaction import Redaction, Redactor
from aipm_operations.retention import Sweeper, old_rows
from aipm_operations.settings import TelemetrySettings

__all__ = [
    "INSTALLED",
    "METRICS",
    "REDACTION",
    "SWEEPER",
    "Finding",
    "HealthCheck",
    "Installed",
    "InstalledPlugin",
    "Metrics",
    "OperationsHooks",
    "PluginState",
    "Redaction",
    "Redactor",
    "Retention",
    "Sweeper",
    "TelemetrySettings",
    "Why",
    "old_rows",
]

METRICS = ServiceKey[Metrics]("operations.metrics")
REDACTION = ServiceKey[Redaction]("operations.redaction")
SWEEPER = ServiceKey[Sweeper]("operations.sweeper")


class OperationsHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_retention(self) -> Iterable[Retention]:
        """How long the plugin's tables keep what nobody needs any more."""
        return ()

    @hookspec
    def aipm_redactors(self) -> Iterable[Redactor]:
        """What is taken out of every reply, event, view and line of the log."""
        return ()

    @hookspec
    def aipm_health_checks(self) -> Iterable[HealthCheck]:
        """Questions for ``aipm doctor``."""
        return ()
