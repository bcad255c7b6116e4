"""What other plugins may use: a way to add to the official SDK's server behind ``/mcp``.

Tools need none of this. It is for what only the protocol itself offers: resources, prompts,
sampling, elicitation. Over stdio only the tools of the runtime are served.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aipm_core import ServiceKey

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkExtension:
    """Handlers beside those of the runtime.

    ``extend`` is called once, when ``aipm up`` builds its routes. ``back_channel`` says that the
    server sends requests to clients; sessions then live in the memory of one process.
    """

    name: str
    extend: Callable[[Server], None]
    back_channel: bool = False


class SdkExtensions(Protocol):
    """Where plugins leave their extensions, in their constructors."""

    def add(self, extension: SdkExtension) -> None:
        """Remember an extension until the server is built."""
        ...


SDK_EXTENSIONS = ServiceKey[SdkExtensions]("mcp_transport.sdk_extensions")
