"""``aipm mcp``: one agent over standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aipm_core.commands import Config

if TYPE_CHECKING:
    from anyio import CancelScope

    from aipm_core.runtime import Runtime


def mcp(config: Config = None) -> None:
    """Serve one agent over stdio (MCP); started by the agent's own program."""
    from aipm_core.commands import with_runtime
    from aipm_core.contributions import Runs
    from aipm_core.errors import ConfigError
    from aipm_core.stdio import STDIO, claimed

    with claimed() as wire:

        async def serve(runtime: Runtime) -> None:
            import anyio

            if not any(owned.record.runs is Runs.MCP for owned in runtime.transports):
                raise ConfigError("this command needs the plugin 'mcp_transport', which is off")
            runtime.services.provide(STDIO, wire)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_stop_on_signal, runtime, tasks.cancel_scope)
                await runtime.serve(Runs.MCP)
                tasks.cancel_scope.cancel()

        with_runtime(config, serve)


async def _stop_on_signal(runtime: Runtime, scope: CancelScope) -> None:
    """A program told to stop does so at once: its only client is the one that told it."""
    import signal

    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            runtime.engine.end_waits()
            scope.cancel()
