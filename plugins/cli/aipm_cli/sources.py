"""Which files a program of other people's plugins is made of: for whoever writes one."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from aipm_cli import discovery, settings_file
from aipm_cli.plugin_directory import VARIABLE
from aipm_core import ConfigError


def sources_of(config: Path | None) -> list[Path]:
    """Return the settings file, the directory of one-file plugins, and the packages of others."""
    directory = os.environ.get(VARIABLE)
    places = [Path(directory)] if directory else []
    try:
        file = settings_file.find(config)
        places.append(file)
        chosen = discovery.choose(discovery.installed(), settings_file.load(file))
    except ConfigError:
        return places  # the program says what is wrong; here it is waited for to be mended
    for choice in chosen:
        if choice.enabled and not choice.found.first_party and choice.found.file is None:
            places += _place_of(choice.found.entry_point.module.partition(".")[0])
    return places


def _place_of(package: str) -> list[Path]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    origin = Path(spec.origin)
    return [origin.parent if spec.submodule_search_locations else origin]
