"""Any program that speaks ACP, the Agent Client Protocol."""

from __future__ import annotations

from aipm_runner.api import Abilities, Launch, RunnerAdapter, RunStart, private_environment
from aipm_runner.drivers.acp import AcpDriver


def launch(start: RunStart) -> Launch:
    """Start the command as it stands; it is told the rest over the protocol."""
    if not start.command:
        raise ValueError("its settings have no command = […]")
    if start.model:
        raise ValueError("the adapter acp cannot choose a model; name it in command = […]")
    return Launch(words=start.command, environment=private_environment(start))


ACP = RunnerAdapter(
    name="acp",
    launch=launch,
    protocol="acp",
    drive=AcpDriver,
    abilities=Abilities(interrupt=True, resume=True),
)
