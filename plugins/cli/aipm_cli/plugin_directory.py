"""One-file plugins: every ``*.py`` of a directory that somebody names is a plugin of that name.

``aipm up --plugin-dir DIR`` names it, or ``AIPM_PLUGIN_DIR``; who names the directory switches on
what is in it. For trying something out: a distribution has requirements, and is checked.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

from aipm_core import ConfigError, Plugin, PluginClass

VARIABLE = "AIPM_PLUGIN_DIR"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")


@dataclass(frozen=True, slots=True)
class PluginFile:
    """A file with one plugin class."""

    file: Path

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.file.stem

    @property
    def entry_point(self) -> EntryPoint:
        """Where its module stands, as an entry point says it."""
        return EntryPoint(name=self.name, value=f"aipm_{self.name}", group="aipm")

    def load(self) -> PluginClass:
        """Run the file; return its plugin class."""
        module_name = self.entry_point.module
        spec = importlib.util.spec_from_file_location(module_name, self.file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{self.file} cannot be read")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
        found = [one for one in vars(module).values() if _is_plugin_of(one, module_name)]
        if len(found) != 1:
            raise ImportError(f"{self.file} has {len(found)} plugin classes; one is needed")
        plugin: PluginClass = found[0]
        return plugin


def use_directory(directory: Path | None) -> None:
    """Take the plugins of a directory in, here and in whatever this program starts."""
    if directory is not None:
        os.environ[VARIABLE] = str(directory.resolve())


def plugin_files() -> list[PluginFile]:
    """Return the plugins of the directory that is named; none if none is."""
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return []
    directory = Path(named)
    if not directory.is_dir():
        raise ConfigError(f"--plugin-dir: there is no directory {directory}")
    files = sorted(file for file in directory.glob("*.py") if not file.name.startswith("_"))
    for file in files:
        if not _NAME.fullmatch(file.stem):
            raise ConfigError(f"--plugin-dir: {file.name}: a plugin's name is of a-z, 0-9 and '_'")
    return [PluginFile(file) for file in files]


def _is_plugin_of(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == module
