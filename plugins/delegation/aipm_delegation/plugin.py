"""(in the making)"""

from __future__ import annotations

from aipm_core import Plugin


class Delegation(Plugin):
    """(in the making)"""
