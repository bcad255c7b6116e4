"""Writes a new third-party plugin: complete, tested, all of it or nothing."""

from __future__ import annotations

import keyword
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from aipm_cli import discovery
from aipm_cli.entry_points import DISTRIBUTION

from aipm_core import CallError, StartupError

# Entry point, package, class and settings table all come from the name, so its form is strict.
_NAME = re.compile(r"[a-z][a-z0-9]{0,30}(?:[-_][a-z][a-z0-9]{0,30}){0,14}")
_LONGEST = 30
_OURS = frozenset({"core", "known_sessions"})
_FILES = {
    "pyproject.toml": "pyproject.toml.tmpl",
    "README.md": "README.md.tmpl",
    ".gitignore": "gitignore.tmpl",
    "$package/__init__.py": "plugin.py.tmpl",
    "$package/py.typed": None,
    "$package/locale/ja.toml": "ja.toml.tmpl",
    "$package/locale/en.toml": "en.toml.tmpl",
    "tests/test_$name.py": "test.py.tmpl",
}


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A distribution that has been written."""

    name: str
    directory: Path
    files: tuple[str, ...]


def write_plugin(name: str, parent: Path, kind: str = "tool") -> Scaffold:
    """Write ``aipm-<name>`` below ``parent``; whatever is there already is left alone."""
    rendered = _render(_check(name, kind), kind)
    target = parent / f"aipm-{name}"
    if os.path.lexists(target):
        message = f"{target} already exists; nothing was written"
        raise CallError(message, code="directory_exists", status=409)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _write(rendered, target)
    except OSError as error:
        raise StartupError(f"cannot write {target}: {error.strerror}") from error
    return Scaffold(name.replace("-", "_"), target, tuple(sorted(rendered)))


def _check(name: str, kind: str) -> str:
    """Return the plugin's id, if the name can be one."""
    plugin = name.replace("-", "_")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise _refused(
            f"plugin name {name!r} is not valid: use at most {_LONGEST} of a-z, 0-9, '-' and '_', "
            "and start every part with a letter"
        )
    if plugin in _OURS or any(f.name == plugin and f.first_party for f in discovery.installed()):
        raise _refused(f"plugin name {name!r} belongs to aipm itself; choose another")
    if keyword.iskeyword(plugin) or keyword.iskeyword(_class_name(plugin)):
        raise _refused(f"plugin name {name!r} is a word of Python; choose another")
    if re.search(rf"\b{_class_name(plugin)}\b", _template(kind, "plugin.py.tmpl")):
        raise _refused(
            f"plugin name {name!r} would give a class {_class_name(plugin)}, "
            "a name its module already uses; choose another"
        )
    return plugin


def _refused(message: str) -> CallError:
    return CallError(message, code="invalid_name", status=400)


def _class_name(plugin: str) -> str:
    return "".join(part.capitalize() for part in plugin.split("_"))


def _template(kind: str, file: str) -> str:
    """Return a template of a kind, or the one that all kinds share."""
    templates = files("aipm_devkit") / "templates"
    own = templates / kind / file
    return (own if own.is_file() else templates / "plugin" / file).read_text(encoding="utf-8")


def _render(plugin: str, kind: str) -> dict[str, str]:
    """Fill every template before the first file is written. An unknown place is an error."""
    values = {
        "name": plugin,
        "distribution": f"aipm-{plugin.replace('_', '-')}",
        "package": f"aipm_{plugin}",
        "class_name": _class_name(plugin),
        "title": plugin.replace("_", " ").capitalize(),
        "bounds": _bounds(version(DISTRIBUTION)),
    }
    return {
        Template(path).substitute(values): Template(_template(kind, file)).substitute(values)
        if file
        else ""
        for path, file in _FILES.items()
    }


def _bounds(current: str) -> str:
    """Accept this version and later ones, up to the next that may break plugins."""
    major, minor = (int(part) for part in current.split(".")[:2])
    ceiling = f"0.{minor + 1}" if major == 0 else str(major + 1)
    return f">={current},<{ceiling}"


def _write(rendered: Mapping[str, str], target: Path) -> None:
    """Write beside the target and move it into place, so that no half plugin is ever seen."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        for path, text in rendered.items():
            file = draft / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
