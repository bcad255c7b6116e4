"""``aipm mcp``: one agent over standard input and output."""

from __future__ import annotations

from aipm_core.commands import Config


def mcp(config: Config = None) -> None:
    """Serve one agent over stdio (MCP); started by the agent's own program."""
    from aipm_core.cli.stdio import serve

    serve(config)
