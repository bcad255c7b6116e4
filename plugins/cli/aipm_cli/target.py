"""Where a command works and in whose name: this machine's store, or a server over its API."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

SERVER, PERSON = "aipm.server", "aipm.person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What ``--server`` and ``--as`` say, or their variables; ``named`` if the option was given."""

    server: str | None = None
    person: str | None = None
    named: bool = False
    command: str = "aipm"


def target() -> Target:
    """Return the target of the command that is running; outside of one, this machine's store."""
    if "typer" not in sys.modules:  # `aipm mcp` goes past the command line, and past its cost
        return Target()
    from typer._click.globals import get_current_context

    context = get_current_context(silent=True)
    if context is None:
        return Target()
    given = context.meta.get(SERVER)
    return Target(
        server=given or os.environ.get("AIPM_SERVER_URL", "").strip() or None,
        person=context.meta.get(PERSON) or os.environ.get("AIPM_AS", "").strip() or None,
        named=given is not None,
        command=context.command_path,
    )


def check_local(*, strict: bool = True) -> None:
    """Refuse a command that works on the server's own machine only.

    One that has nothing to do with a server (not ``strict``) minds the option, not the variable.
    """
    from aipm_core import ConfigError

    chosen = target()
    if chosen.named or (strict and chosen.server):
        how = "--server" if chosen.named else "AIPM_SERVER_URL"
        raise ConfigError(
            f"`{chosen.command}` works on the machine of the server only; leave {how} out there"
        )


def keep(context: Any, parameter: Any, value: Any) -> Any:  # noqa: ANN401
    """Keep the value of a common option for whoever asks for the target."""
    if value is not None:
        context.meta[{"server": SERVER, "person": PERSON}[parameter.name]] = value
    return value
