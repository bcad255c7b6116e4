"""The program as it is installed, to find out what there is to attack."""

from __future__ import annotations

from aipm_cli import discovery
from aipm_cli.program import assemble
from aipm_cli.settings import Settings

from aipm_core.runtime import Runtime


def installed() -> Runtime:
    """Build the program with all of its own plugins on; nothing is opened or started."""
    settings = Settings()
    choices = discovery.choose(discovery.installed(), settings)
    return assemble(settings, discovery.load(choices, settings))
