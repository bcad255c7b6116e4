"""Questions about a plugin's code, asked before anything of it runs in a runtime."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from aipm_cli import discovery
from pydantic import BaseModel

from aipm_core import PluginError
from aipm_core.host import hooks_of, known_hooks, misuse_of
from aipm_devkit.conformance.target import Subject, Unfit


def entry_point(subject: Subject) -> str:
    """The entry point is well formed and its name is free."""
    name, value = subject.name, subject.found.entry_point.value
    if not name.isidentifier() or name != name.lower():
        raise Unfit(f"the plugin name {name!r} is not a lower-case identifier")
    module, _, cls = value.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), cls)):
        raise Unfit(f"{value!r} is not of the form MODULE:CLASS")
    ours = {found.name for found in discovery.installed() if found.first_party}
    if name in ours and not subject.found.first_party:
        raise Unfit(f"the plugin name {name!r} belongs to aipm itself; choose another")
    return f"{name} = {value}"


def private_imports(subject: Subject) -> str:
    """Of the kernel only the front is imported; import-linter guards our own packages."""
    for file, line, module in _imports(subject.package):
        below = module.removeprefix("aipm_core.").partition(".")[0]
        if subject.found.first_party or not module.startswith("aipm_core."):
            continue
        if find_spec(f"aipm_core.{below}") is not None:
            raise Unfit(
                f"{file.name}:{line} imports aipm_core.{below}, which may change without notice; "
                "use what aipm_core itself offers"
            )
    return "only the front of aipm_core is imported"


def importable(subject: Subject) -> str:
    """The class can be imported, from where it was looked for."""
    try:
        subject.plugin = subject.found.load()
    except PluginError as error:
        raise Unfit(error.reason) from None
    file = Path(inspect.getfile(subject.plugin)).resolve()
    if subject.root is not None and not file.is_relative_to(subject.root):
        raise Unfit(f"{subject.found.entry_point.value} was imported from {file}, not from here")
    return subject.found.entry_point.value


def hooks(subject: Subject) -> str:
    """Every hook is known, marked, plain, and takes nothing but ``self``."""
    company = {found.name: found.load() for found in discovery.installed() if found.first_party}
    try:
        known = known_hooks({**company, subject.name: subject.plugin})
    except PluginError as error:
        raise Unfit(error.reason) from None
    if (misuse := misuse_of(subject.plugin, known)) is not None:
        raise Unfit(misuse)
    return ", ".join(hooks_of(subject.plugin)) or "none"


def settings(subject: Subject) -> str:
    """The settings are a model that forbids unknown keys and needs none to be given."""
    model = subject.plugin.config_model
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise Unfit(f"config_model is {model!r}, not a pydantic model")
    if model.model_config.get("extra") != "forbid":
        raise Unfit(f"{model.__name__} accepts unknown keys; derive it from aipm_core.PluginConfig")
    if needed := [name for name, info in model.model_fields.items() if info.is_required()]:
        raise Unfit(f"{model.__name__}.{needed[0]} has no default: the plugin could not just start")
    taken = {"enabled", "optional"} & set(model.model_fields)
    if taken and not subject.plugin.own_section:
        raise Unfit(f"{model.__name__}.{min(taken)} is a key of aipm itself; choose another")
    return ", ".join(model.model_fields) or "none"


def _imports(package: str) -> Iterator[tuple[Path, int, str]]:
    for file in _sources(package):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
            if isinstance(node, ast.Import):
                yield from ((file, node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                module = node.module or ""
                yield file, node.lineno, module
                yield from ((file, node.lineno, f"{module}.{a.name}") for a in node.names)


def _sources(package: str) -> list[Path]:
    spec = find_spec(package)
    if spec is None:
        raise Unfit(f"there is no package {package}")
    if spec.submodule_search_locations:
        return sorted(Path(spec.submodule_search_locations[0]).rglob("*.py"))
    return [Path(spec.origin)] if spec.origin else []
