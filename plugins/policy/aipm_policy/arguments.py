"""How rules see the arguments of a call: however they are written, and when they are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from aipm_core import AnyTool, Json
from aipm_policy.digest import canonical

UNKNOWN: Final = object()
"""The value of an argument that a tool does not have."""
_QUOTING = str.maketrans("", "", "\"'\\")


def value_of(tool: AnyTool, arguments: Mapping[str, Json], name: str) -> Json:
    """Return an argument as the tool gets it: its default if it is left out, ``None`` without one.

    Who leaves an argument out must not get past a rule that would have seen the same value.
    """
    if name in arguments:
        return arguments[name]
    if isinstance(tool.arguments, Mapping):
        return _schema_default(tool.arguments.get("properties", {}), name)
    for own, field in tool.arguments.model_fields.items():
        if name in (names := _names(own, field)):
            given = [arguments[other] for other in names if other in arguments]
            return given[0] if given else _default(field)
    return UNKNOWN


def _schema_default(properties: Mapping[str, Json], name: str) -> Json:
    if name not in properties:
        return UNKNOWN
    schema = properties[name]  # ``true`` is a schema as well
    return schema.get("default") if isinstance(schema, Mapping) else None


def _names(own: str, field: FieldInfo) -> tuple[str, ...]:
    return (own, *(name for name in (field.alias, field.validation_alias) if isinstance(name, str)))


def _default(field: FieldInfo) -> Json:
    default = field.get_default(call_default_factory=True)
    return None if default is PydanticUndefined else to_jsonable_python(default)


def plain_spellings(value: Json) -> Iterator[str]:
    """Yield the texts that mean exactly this value: itself, and a list as a line of its words.

    A list is such a line only if nobody could read the line as other words.
    """
    yield value if isinstance(value, str) else canonical(value)
    if value and isinstance(value, list) and all(isinstance(word, str) for word in value):
        line = " ".join(value)
        if line.translate(_QUOTING).split() == value:
            yield line


def all_spellings(value: Json) -> Iterator[str]:
    """Yield every text a value could be meant by: also its bare words, without any quoting."""
    yield value if isinstance(value, str) else canonical(value)
    line = " ".join(_words(value))
    yield line
    yield " ".join(line.translate(_QUOTING).split())


def _words(value: Json) -> Iterator[str]:
    """Yield the words of a value, of whatever is inside it too, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _words(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _words(item)
    else:
        yield canonical(value)
