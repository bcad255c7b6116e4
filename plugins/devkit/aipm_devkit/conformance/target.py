"""What is under test: the plugins of a distribution's directory, or one that is installed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from aipm_cli import discovery
from aipm_cli.discovery import Found

from aipm_core import CallError, PluginClass

PYPROJECT = "pyproject.toml"


class Unfit(Exception):
    """The plugin does not hold to a rule; the message says in one sentence what to change."""


@dataclass
class Subject:
    """One plugin under test. ``plugin`` is there once it has been imported."""

    found: Found
    root: Path | None
    plugin: PluginClass = field(init=False)

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.found.name

    @property
    def package(self) -> str:
        """The top-level package the plugin's module is in."""
        return self.found.entry_point.value.partition(":")[0].partition(".")[0]


def locate(target: str) -> Path | str:
    """Return whether ``target`` is a distribution's directory or an installed plugin's name."""
    path = Path(target)
    if (path / PYPROJECT).is_file():
        return path.resolve()
    if any(found.name == target for found in discovery.installed()):
        return target
    if path.is_dir():
        return path.resolve()
    message = f"there is no directory {target!r} and no installed plugin of that name"
    raise CallError(message, code="plugin_not_found", status=404)


def subjects(target: Path | str) -> list[Subject]:
    """Return the plugins to test."""
    if isinstance(target, Path):
        return [Subject(found, target) for found in _declared(target)]
    return [Subject(found, None) for found in discovery.installed() if found.name == target]


def import_roots(root: Path) -> list[Path]:
    """Return the directories from which a distribution's packages are imported."""
    try:
        packages = _table(_read(root), "tool", "hatch", "build", "targets", "wheel").get("packages")
    except Unfit:
        packages = None
    parents = [(root / str(package)).parent for package in packages or ()]
    return [*parents, root / "src", root]


def _declared(root: Path) -> list[Found]:
    project = _table(_read(root), "project")
    points = _table(project, "entry-points", discovery.GROUP)
    if not points:
        raise Unfit(
            f"{PYPROJECT} names no plugin: "
            f'add [project.entry-points.{discovery.GROUP}] NAME = "MODULE:CLASS"'
        )
    return [
        Found(
            name,
            str(project.get("name", "?")),
            EntryPoint(name, str(value), discovery.GROUP),
            said=str(project.get("version", "?")),
        )
        for name, value in sorted(points.items())
    ]


def _read(root: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads((root / PYPROJECT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Unfit(f"there is no {PYPROJECT} in {root}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Unfit(f"{PYPROJECT}: {error}") from None


def _table(table: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for key in path:
        inner = table.get(key)
        table = inner if isinstance(inner, Mapping) else {}
    return table
