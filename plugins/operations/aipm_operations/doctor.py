"""What ``aipm doctor`` asks: the core's own questions, then those of the plugins."""

from __future__ import annotations

import socket
import stat
from collections.abc import Sequence
from typing import TypeAlias, cast

from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings
from aipm_http_server.api import ServerSettings
from aipm_store.api import KeptEngine, filesystem_of

from aipm_core import ConfigError, Owned, StartupError
from aipm_core.host import Runtime
from aipm_operations.api import OperationsHooks
from aipm_operations.health import ask
from aipm_operations.records import Finding, HealthCheck

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
            findings += [await ask(owned) for owned in _checks(runtime)]
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
    found = await cast("KeptEngine", runtime.engine).condition()
    if found.sound:
        return Finding(status="ok", message=found.message)
    remedy = "aipm restore FILE --replace puts a backup in its place and keeps this one"
    return Finding(
        status="fail",
        message=found.message,
        next=remedy if runtime.store.dialect == "sqlite" else "see the server's settings",
    )


def _plugins(runtime: Runtime) -> Finding:
    names = sorted(runtime.plugins())
    return Finding(status="ok", message=f"{len(names)} on: {', '.join(names)}")


def _checks(runtime: Runtime) -> tuple[Owned[HealthCheck], ...]:
    return runtime.given(OperationsHooks.aipm_health_checks)


def _repairs(runtime: Runtime) -> Findings:
    return [
        (
            f"--{owned.record.flag}",
            Finding(status="ok", message=f"{owned.plugin}: {owned.record.name}"),
        )
        for owned in _checks(runtime)
        if owned.record.repair
    ]


async def _repair(runtime: Runtime, wanted: Sequence[str]) -> Findings:
    known = {o.record.flag: o.record.repair for o in _checks(runtime) if o.record.repair}
    for flag in wanted:
        if flag not in known:
            names = ", ".join(f"--{name}" for name in sorted(known)) or "none"
            raise ConfigError(f"there is no repair --{flag}; there are: {names}")
    return [(f"--{flag}", await known[flag]()) for flag in wanted]


def _port(settings: Settings) -> Finding:
    server = settings.section(ServerSettings)
    where = (server.host, server.port)
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
