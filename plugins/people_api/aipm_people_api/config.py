"""Settings of this plugin: ``[plugins.people_api]``."""

from __future__ import annotations

from aipm_core import PluginConfig


class PeopleApiConfig(PluginConfig):
    """Nothing to set: logins and their limits are settings of the sessions."""
