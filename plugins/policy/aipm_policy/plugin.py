"""(in the making)"""

from __future__ import annotations

from aipm_core import Plugin


class Policy(Plugin):
    """(in the making)"""
