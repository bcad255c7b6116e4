"""What plugins can rely on, as tests/public_api.txt says it, so that a break shows in review."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "public_api.txt"


def description() -> str:
    """Describe every public name: fields, members, methods and signatures."""
    return "".join(f"{line}\n" for module in modules() for line in _module(module))


def modules() -> list[ModuleType]:
    """Return what plugins may import: the kernel's front, then every plugin's ``api``."""
    packages = sorted(file.parent.name for file in ROOT.glob("plugins/*/aipm_*/api.py"))
    return [import_module(name) for name in ("aipm_core", *(f"{one}.api" for one in packages))]


def names_of(module: ModuleType) -> list[str]:
    """Return the public names of a module: its list, or else what it defines."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    own = (n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__)
    return sorted(name for name in own if not name.startswith("_"))


def _module(module: ModuleType) -> Iterator[str]:
    yield f"[{module.__name__}]"
    for name in names_of(module):
        yield from lines_of(name, getattr(module, name))


def lines_of(name: str, value: object) -> Iterator[str]:
    """Describe one name, its members indented below it."""
    if not isinstance(value, type):
        yield f"{name}{inspect.signature(value)}" if inspect.isfunction(value) else name
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(value, Enum):
        yield from (f"    {member.name} = {member.value!r}" for member in value)
    if dataclasses.is_dataclass(value):
        yield from (f"    {_field(field)}" for field in dataclasses.fields(value))
    else:
        yield from (
            f"    {n}: {a}" for n, a in inspect.get_annotations(value).items() if n[0] != "_"
        )
    if issubclass(value, Exception) and "__init__" in vars(value):
        yield f"    __init__{inspect.signature(value.__init__)}"
    yield from _members(value)


def _field(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        default = field.default
        if isinstance(default, PurePath):
            default = default.as_posix()  # Windows has a class of its own
        return f"{field.name}: {field.type} = {getattr(default, '__name__', repr(default))}"
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}: {field.type} = …"
    return f"{field.name}: {field.type}"


def _members(value: type) -> Iterator[str]:
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(plain):
            yield f"    {name}{inspect.signature(plain)}"
        elif isinstance(member, property):
            yield f"    {name} (property)"
