"""``aipm mcp``: one agent over standard input and output."""

from __future__ import annotations

from aipm_core.commands import Config


def mcp(config: Config = None) -> None:
    """Serve one agent over stdio (MCP); started by the agent's own program."""
    from aipm_core.commands import with_runtime
    from aipm_core.contributions import Runs
    from aipm_core.errors import ConfigError
    from aipm_core.runtime import Runtime

    async def serve(runtime: Runtime) -> None:
        if not any(owned.record.runs is Runs.MCP for owned in runtime.transports):
            raise ConfigError("this command needs the plugin 'mcp_transport', which is off")
        await runtime.serve(Runs.MCP)

    with_runtime(config, serve)
