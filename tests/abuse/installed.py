"""The program as it is installed, to find out what there is to abuse."""

from __future__ import annotations

from aipm_core.config import Settings
from aipm_core.plugins import discovery
from aipm_core.runtime import Runtime, assemble


def installed() -> Runtime:
    """Build the program with all of its own plugins on; nothing is opened or started."""
    settings = Settings()
    choices = discovery.choose(discovery.installed(), settings)
    return assemble(settings, discovery.load(choices, settings))
