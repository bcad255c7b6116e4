"""``aipm up -d``, ``aipm down`` and ``aipm logs``: a server in the background."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from aipm_cli.api import AsJson, Config, load_settings, say, settings_file, show, words

if TYPE_CHECKING:
    from aipm_http_server.running_file import Running

_STOP_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_FOLLOW_SECONDS = 0.5
_PACKAGE = "aipm_http_server"


def start_in_background(config: Path | None, options: list[str], *, as_json: bool) -> None:
    """Start ``aipm up`` as a process of its own; return once it answers."""
    import subprocess  # the program itself, without a shell  # nosec B404

    from aipm_core import StartupError
    from aipm_http_server.running_file import LOG

    file, settings = settings_file(config).resolve(), load_settings(config)
    _check_none_runs(settings.data_dir)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = settings.data_dir / LOG
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        begun = log.tell()
        process = subprocess.Popen(  # noqa: S603  # nosec B603
            [sys.executable, "-m", "aipm_cli", "up", "--config", str(file), "--json", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    with process.stdout or nullcontext() as told:
        ready = told.readline().decode() if told else ""
    if not ready:
        process.wait()
        said = place.read_bytes()[begun:].decode(errors="replace").strip().splitlines()
        why = said[-1].removeprefix("aipm: ") if said else "it told nothing"
        raise StartupError(f"the server did not start: {why}")
    process.returncode = 0  # it lives on, and nobody here waits for its end
    _tell_started(config, ready, as_json=as_json)


def _tell_started(config: Path | None, ready: str, *, as_json: bool) -> None:
    import json

    if as_json:
        sys.stdout.write(ready)
        return
    say(words(_PACKAGE, config)("cli.started", url=json.loads(ready)["url"]))


def _check_none_runs(data_dir: Path) -> None:
    from aipm_core import StartupError
    from aipm_http_server.running_file import find_running

    if (running := find_running(data_dir)) is not None:
        raise StartupError(f"a server runs at {running.url} already; `aipm down` stops it")


def down(config: Config = None, as_json: AsJson = False) -> None:
    """Stop the server of this data directory and wait until it has ended."""
    from aipm_core import CallError
    from aipm_http_server.running_file import find_running

    running = find_running(load_settings(config).data_dir)
    if running is None:
        raise CallError(
            "no server is running here; `aipm up -d` starts one", code="not_running", status=404
        )
    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGTERM)
    _await_end(running)
    line = words(_PACKAGE, config)("cli.stopped", url=running.url)
    show({"pid": running.pid, "url": running.url}, as_json=as_json, human=lambda: say(line))


def _await_end(running: Running) -> None:
    from aipm_core import CallError

    until = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < until:
        with suppress(ChildProcessError):  # a child of this process would stay as a zombie
            os.waitpid(running.pid, os.WNOHANG)
        try:
            os.kill(running.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(_LOOK_SECONDS)
    raise CallError(
        f"process {running.pid} was told to stop and has not ended", code="not_ended", status=504
    )


def logs(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last.")] = 50,
    config: Config = None,
) -> None:
    """Print what a server in the background has told."""
    from aipm_core import CallError
    from aipm_http_server.running_file import LOG

    place = load_settings(config).data_dir / LOG
    if not place.is_file():
        message = f"there is no {place}; a server that `aipm up -d` starts writes it"
        raise CallError(message, code="log_not_found", status=404)
    with place.open(encoding="utf-8", errors="replace") as file, suppress(KeyboardInterrupt):
        last = file.readlines()[-lines:] if lines else file.readlines()[:0]
        for line in last:
            say(line.rstrip("\n"))
        while follow:
            sys.stdout.flush()
            if line := file.readline():
                say(line.rstrip("\n"))
            else:
                time.sleep(_FOLLOW_SECONDS)
