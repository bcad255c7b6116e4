"""(in the making)"""

from __future__ import annotations

from aipm_core import Plugin


class McpTransport(Plugin):
    """(in the making)"""
