"""What a plugin did wrong during a call: logged under a number, all that callers learn of it."""

from __future__ import annotations

import logging
import secrets

logger = logging.getLogger(__name__)


class Broken(Exception):
    """A plugin's function raised, hung or gave garbage: logged, hidden from the caller."""

    def __init__(self, incident: str, code: str = "internal_error", status: int = 500) -> None:
        super().__init__(incident)
        self.incident = incident
        self.code = code
        self.status = status


def report(plugin: str, name: str, problem: str = "") -> str:
    """Log a problem, or else the exception that is being handled; return its number."""
    incident = new_incident()
    about, words = {"plugin": plugin, "incident": incident}, "plugin %s: %s %s [%s]"
    values = (plugin, name, problem or "failed", incident)
    logger.error(words, *values, exc_info=not problem, extra=about)
    return incident


def new_incident() -> str:
    """Return a number under which a log can be searched."""
    return f"inc_{secrets.token_hex(6)}"
