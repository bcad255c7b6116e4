"""What other parts of the program may use of the kit."""

from __future__ import annotations

from aipm_devkit.conformance.runner import Check, examine
from aipm_devkit.scaffold import Scaffold, write_plugin

__all__ = ["Check", "Scaffold", "examine", "write_plugin"]
