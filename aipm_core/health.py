"""What ``aipm doctor`` asks: the core's own questions, then those of the plugins."""

from __future__ import annotations

import socket
import stat
from collections.abc import Sequence
from typing import TypeAlias

from aipm_core.config import Settings
from aipm_core.contributions import Finding, HealthCheck, Owned
from aipm_core.deadline import within
from aipm_core.errors import ConfigError, StartupError
from aipm_core.runtime import Runtime, open_runtime
from aipm_core.store.place import filesystem_of

Findings: TypeAlias = list[tuple[str, Finding]]


async def examine(settings: Settings, repairs: Sequence[str], list_repairs: bool) -> Findings:
    """Ask everything; run the named repairs first."""
    findings: Findings = [
        ("settings", Finding(status="ok", message=f"{settings.file} is valid")),
    ]
    try:
        async with open_runtime(settings) as runtime:
            if list_repairs:
                return _repairs(runtime)
            findings += await _repair(runtime, repairs)
            findings += [
                ("data", _data(settings)),
                ("store", await _store(runtime)),
                ("plugins", _plugins(runtime)),
            ]
            findings += [await _ask(owned) for owned in runtime.health_checks]
    except ConfigError:
        raise
    except StartupError as error:
        findings.append(("start", Finding(status="fail", message=str(error))))
    findings.append(("port", _port(settings)))
    return findings


def _data(settings: Settings) -> Finding:
    place = settings.data_dir
    mode = stat.S_IMODE(place.stat().st_mode)
    kind = filesystem_of(place) or "unknown file system"
    return Finding(status="ok", message=f"{place} is private ({mode:04o}, {kind})")


async def _store(runtime: Runtime) -> Finding:
    found = await runtime.engine.condition()
    if found.sound:
        return Finding(status="ok", message=found.message)
    remedy = "aipm restore FILE --replace puts a backup in its place and keeps this one"
    return Finding(
        status="fail",
        message=found.message,
        next=remedy if runtime.store.dialect == "sqlite" else "see the server's settings",
    )


def _plugins(runtime: Runtime) -> Finding:
    names = sorted(runtime.plugin_texts)
    return Finding(status="ok", message=f"{len(names)} on: {', '.join(names)}")


async def _ask(owned: Owned[HealthCheck]) -> tuple[str, Finding]:
    check = owned.record
    name = f"{owned.plugin}: {check.name}"
    try:
        return name, await within(check.deadline, check.check())
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding
        return name, Finding(status="fail", message=f"the check itself failed: {error!r}")


def _repairs(runtime: Runtime) -> Findings:
    return [
        (
            f"--{owned.record.flag}",
            Finding(status="ok", message=f"{owned.plugin}: {owned.record.name}"),
        )
        for owned in runtime.health_checks
        if owned.record.repair
    ]


async def _repair(runtime: Runtime, wanted: Sequence[str]) -> Findings:
    known = {o.record.flag: o.record.repair for o in runtime.health_checks if o.record.repair}
    for flag in wanted:
        if flag not in known:
            names = ", ".join(f"--{name}" for name in sorted(known)) or "none"
            raise ConfigError(f"there is no repair --{flag}; there are: {names}")
    return [(f"--{flag}", await known[flag]()) for flag in wanted]


def _port(settings: Settings) -> Finding:
    where = (settings.server.host, settings.server.port)
    with socket.socket(socket.AF_INET6 if ":" in where[0] else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except OSError as error:
            return Finding(
                status="warn",
                message=f"{where[0]}:{where[1]} cannot be taken: {error.strerror}",
                next="fine if `aipm up` is running; otherwise stop who listens there",
            )
    return Finding(
        status="ok", message=f"{where[0]}:{where[1]} is free", next="aipm up starts the server"
    )
