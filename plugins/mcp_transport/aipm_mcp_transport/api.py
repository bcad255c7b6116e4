"""What other plugins may use: a hook to add to the official SDK's server behind ``/mcp``.

Tools need none of this. It is for what only the protocol itself offers: resources, prompts,
sampling, elicitation. Over stdio only the tools of the runtime are served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aipm_core import hookspec
from aipm_mcp_transport.asking import Action, Elicit, Elicited, InputRequired, Question

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.lowlevel import Server

__all__ = [
    "Action",
    "Elicit",
    "Elicited",
    "InputRequired",
    "McpHooks",
    "Question",
    "SdkExtension",
    "serve_stdio",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkExtension:
    """Handlers beside those of the runtime.

    ``extend`` is called once, when ``aipm up`` builds its routes. ``back_channel`` says that the
    server sends requests to clients; sessions then live in the memory of one process.
    """

    name: str
    extend: Callable[[Server], None]
    back_channel: bool = False


def serve_stdio(config: Path | None, token_file: Path | None = None) -> None:
    """Serve one agent over standard input and output: what ``aipm mcp`` does."""
    from aipm_mcp_transport.stdio_command import serve

    serve(config, token_file)


class McpHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_sdk_extensions(self) -> Iterable[SdkExtension]:
        """Resources, prompts and other things of the protocol that are no tools."""
        return ()
