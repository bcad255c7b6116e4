"""Sends many small modules as one: packed together they are a third smaller than one by one.

Each module becomes a function that returns what it exports; whoever imports from it takes it from
there. Modules must not import in a circle, and are written as all of ours are: ``import``s and
``export``s stand at the beginning of a line and end with a semicolon.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping

_IMPORT = re.compile(r"^import\s+(?:(\w+)|\{([^}]*)\})\s+from\s+'([^']+)';\n", re.MULTILINE)
_FOR_EFFECT = re.compile(r"^import\s+'([^']+)';\n", re.MULTILINE)
_PASSED_ON = re.compile(r"^export\s+\{([^}]*)\}\s+from\s+'([^']+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export\s+((?:async\s+)?(?:function|class|const)\s+(\w+))", re.MULTILINE)
_FROM = re.compile(r"^(?:import\s+|(?:import|export)\s[^;'`]*\sfrom\s+)'([^']+)';", re.MULTILINE)


class Circle(ValueError):
    """Modules that import each other cannot be sent as one."""


def imported(name: str, text: str) -> list[str]:
    """Return the modules a module imports, by their paths."""
    return [posixpath.normpath(posixpath.join(name, "..", one)) for one in _FROM.findall(text)]


def reached(modules: Mapping[str, str], entry: str) -> list[str]:
    """Return what a module needs, each after what it needs itself; the module comes last."""
    order: list[str] = []
    open_: list[str] = []

    def visit(name: str) -> None:
        if name in open_:
            raise Circle(f"modules import in a circle: {' → '.join([*open_, name])}")
        if name in order or name not in modules:
            return
        open_.append(name)
        for other in imported(name, modules[name]):
            visit(other)
        open_.pop()
        order.append(name)

    visit(entry)
    return order


def joined(modules: Mapping[str, str], entry: str, apart: Collection[str]) -> str:
    """Return ``entry`` and what it needs as one module; those that stay apart are imported."""
    needed = reached(modules, entry)
    inside = [name for name in needed if name not in apart]
    outside = sorted(
        {other for name in inside for other in imported(name, modules[name])} - set(inside)
    )
    names = {name: f"m{number}" for number, name in enumerate([*outside, *inside])}
    here = posixpath.dirname(entry)
    parts = [
        f"import * as {names[one]} from './{posixpath.relpath(one, here)}';" for one in outside
    ]
    for name in inside:
        body = _body(name, modules[name], names)
        parts.append(body if name == entry else _wrapped(names[name], body))
    return "\n".join(parts)


def _body(name: str, text: str, names: Mapping[str, str]) -> str:
    """Write a module's imports as constants."""

    def source(path: str) -> str:
        return names[posixpath.normpath(posixpath.join(name, "..", path))]

    def constants(found: re.Match[str]) -> str:
        whole, some, path = found.groups()
        wanted = f"default:{whole}" if whole else ",".join(_pairs(some))
        return f"const{{{wanted}}}={source(path)};\n"

    def passed_on(found: re.Match[str]) -> str:
        some, path = found.groups()
        wanted = ",".join(_pairs(some))
        return f"export const{{{wanted}}}={source(path)};\n"

    text = _PASSED_ON.sub(passed_on, _IMPORT.sub(constants, text))
    return _FOR_EFFECT.sub("", text)


def _pairs(names: str) -> Iterator[str]:
    for one in filter(None, (part.strip() for part in names.split(","))):
        old, _, new = one.partition(" as ")
        yield f"{old.strip()}:{new.strip()}" if new else old


def _wrapped(name: str, body: str) -> str:
    given = [found[1] for found in _EXPORT.findall(body)]
    for some in re.findall(r"^export const\{([^}]*)\}", body, re.MULTILINE):
        given += [pair.rpartition(":")[2] for pair in some.split(",")]
    body = re.sub(r"^export const\{", "const{", _EXPORT.sub(r"\1", body), flags=re.MULTILINE)
    return f"const {name}=(()=>{{\n{body}return{{{','.join(given)}}}}})();"
