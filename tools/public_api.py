"""What plugins can rely on, as tests/public_api.txt says it, so that a break shows in review."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

import aipm_core

FILE = Path(__file__).resolve().parent.parent / "tests" / "public_api.txt"


def description() -> str:
    """Describe every public name: fields, members, methods and signatures."""
    return "".join(f"{line}\n" for name in aipm_core.__all__ for line in _lines(name))


def _lines(name: str) -> Iterator[str]:
    value = getattr(aipm_core, name)
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
