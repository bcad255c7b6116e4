"""What ``aipm mcp`` does. Nothing of the command line is imported here."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from aipm_cli.command_runtime import with_runtime

from aipm_mcp_transport.standard_streams import STDIO, claimed

if TYPE_CHECKING:
    from pathlib import Path

    from anyio import CancelScope

    from aipm_core.host import Runtime
    from aipm_mcp_transport.standard_streams import Wire


def serve(config: Path | None, token_file: Path | None = None) -> None:
    """Serve one agent until it is done, or the program is told to stop."""
    if token_file is not None:
        _take_token(token_file)
    with claimed() as wire:
        from aipm_core import ServeMode

        with_runtime(config, lambda runtime: _serve(runtime, wire), ServeMode.STDIO)


def _take_token(file: Path) -> None:
    """Let the token of a file be the connection's, unless the environment brings one."""
    import os

    from aipm_core import ConfigError

    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            f"there is no token in {file}; `aipm connect` with --agent and --project writes one"
        ) from None
    if not os.environ.get("AIPM_SESSION_TOKEN", "").strip():
        os.environ["AIPM_SESSION_TOKEN"] = token


async def _serve(runtime: Runtime, wire: Wire) -> None:
    import anyio

    from aipm_core import ConfigError, ServeMode

    if not any(owned.record.mode is ServeMode.STDIO for owned in runtime.transports):
        raise ConfigError("this command needs the plugin 'mcp_transport', which is off")
    runtime.services.provide(STDIO, wire)
    gc.freeze()
    gc.enable()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, runtime, tasks.cancel_scope)
        await runtime.serve(ServeMode.STDIO)
        tasks.cancel_scope.cancel()


async def _stop_on_signal(runtime: Runtime, scope: CancelScope) -> None:
    """A program told to stop does so at once: its only client is the one that told it."""
    import signal

    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            runtime.engine.end_waits()
            scope.cancel()
