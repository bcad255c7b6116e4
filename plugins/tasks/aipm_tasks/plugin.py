"""(in the making)"""

from __future__ import annotations

from aipm_core import Plugin


class Tasks(Plugin):
    """(in the making)"""
