"""(in the making)"""

from __future__ import annotations

from aipm_core import Plugin


class Markers(Plugin):
    """(in the making)"""
