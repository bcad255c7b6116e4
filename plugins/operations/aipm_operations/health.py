"""Asks one question of the doctor and takes whatever happens as a finding."""

from __future__ import annotations

from aipm_core import Owned, within
from aipm_operations.records import Finding, HealthCheck


async def ask(owned: Owned[HealthCheck]) -> tuple[str, Finding]:
    """Return the name of a check and what it found."""
    check = owned.record
    name = f"{owned.plugin}: {check.name}"
    try:
        return name, await within(check.deadline, check.check())
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding
        return name, Finding(status="fail", message=f"the check itself failed: {error!r}")
