"""The language people are spoken to: that of the settings; without any, that of the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aipm_core import Locale, Texts


def words(package: str, config: Path | None = None) -> Texts:
    """Return a package's catalogue in the language of whoever reads what a command says."""
    from aipm_core import Texts

    return Texts.load(package, language(config))


def language(config: Path | None = None) -> Locale:
    """Return ``locale`` of the settings; of a server elsewhere nothing is known but ``LANG``."""
    from aipm_cli import settings_file
    from aipm_cli.target import target
    from aipm_core import ConfigError

    if target().server is None:
        try:
            return settings_file.load(config).locale
        except ConfigError:
            pass
    return terminal_language()


def terminal_language() -> Locale:
    """Return the language of the environment, Japanese if it is neither of ours."""
    names = (os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "en" if next(filter(None, names), "").startswith("en") else "ja"
