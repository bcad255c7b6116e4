"""``docs/reference/api.md``: everything plugins may import, with what the code says of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

from aipm_core import Plugin
from tools.public_api import lines_of, modules, names_of

_HEAD = """# Public API
What a plugin may import: `aipm_core`, and the `api` of every plugin. Its version is
`aipm_api = {version}`; [what stays](../stability.md) says how it changes. [Hooks](../hooks.md) has
what plugins give. Written from the code by `make docs`.
"""


def write() -> str:
    """Return the page."""
    parts = [_HEAD.format(version=Plugin.aipm_api)]
    for module in modules():
        parts += _module(module)
    return "\n".join(parts).rstrip() + "\n"


def _module(module: ModuleType) -> Iterator[str]:
    yield f"## {module.__name__}"
    yield (inspect.getdoc(module) or "").partition("\n")[0] + "\n"
    for name in names_of(module):
        value = getattr(module, name)
        yield f"### {name}"
        if isinstance(value, type) or inspect.isroutine(value):
            yield (inspect.getdoc(value) or "").partition("\n\n")[0].replace("``", "`") + "\n"
        yield "```text"
        yield from lines_of(name, value)
        yield "```\n"
