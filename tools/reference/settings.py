"""docs/reference/settings.md: every key of aipm.toml, its default and its meaning."""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import PurePath
from textwrap import dedent
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from aipm_cli import discovery
from aipm_cli.settings import GROUP, PluginSettings
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from aipm_core.settings import BaseSettings
from tools.reference.markdown import code, page, plain, table

INTRODUCTION = """\
Settings live in `aipm.toml`: the file given with `--config`, else `./aipm.toml`, else
`~/.config/aipm/aipm.toml` (`$XDG_CONFIG_HOME` is respected). `aipm init` writes one with comments.
Every key has a default. An unknown key stops the program with a sentence that names the nearest
valid one.

The environment overrides the file: `AIPM_<SECTION>__<KEY>`, with one more `__` for each level, as
in `AIPM_SERVER__PORT=9000` or `AIPM_PLUGINS__SESSIONS__IDLE_SECONDS=600`.
"""
_LIMITS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def write() -> str:
    """Return the page as it should be."""
    return page("Settings", INTRODUCTION, *_core(), *_plugins())


def _core() -> Iterator[str]:
    yield _section("At the top of the file", BaseSettings, skip={"file"})
    for section in entry_points(group=GROUP):
        yield _section(f"`[{section.name}]`", section.load())
    yield _section("`[plugins.<name>]`, for every plugin", PluginSettings)


def _plugins() -> Iterator[str]:
    for found in discovery.installed():
        if found.first_party and not found.load().own_section:
            model = found.load().config_model
            yield _section(f"`[plugins.{found.name}]`", model)
            for name, field in model.model_fields.items():
                inner = _listed(field)
                if inner is not None:
                    yield _section(f"`[[plugins.{found.name}.{name}]]`", inner)


def _listed(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a list of tables."""
    first = next(iter(get_args(field.annotation)), None)
    return first if isinstance(first, type) and issubclass(first, BaseModel) else None


def _section(title: str, model: type[BaseModel], skip: set[str] | None = None) -> str:
    meanings = meanings_of(model)
    rows = [
        (code(name), _type(field), _default(field), meanings[name])
        for name, field in model.model_fields.items()
        if name not in (skip or set()) and not _is_table(field)
    ]
    about = plain(inspect.getdoc(model)) if rows else "Nothing to set but `enabled`."
    listed = table(("key", "type", "default", "meaning"), rows) if rows else ""
    return f"## {title}\n{about}\n\n{listed}"


def meanings_of(model: type[BaseModel]) -> dict[str, str]:
    """Read the sentence below every field; a field without one is an error."""
    tree = ast.parse(dedent(inspect.getsource(model)))
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
    found: dict[str, str] = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[node.target.id] = plain(text)
    return _complete(model, found)


def _complete(model: type[BaseModel], found: dict[str, str]) -> dict[str, str]:
    for name, field in model.model_fields.items():
        hidden = field.exclude or _is_table(field) or name == "plugins"
        if name not in found and not hidden:
            raise SystemExit(f"{model.__module__}: say below {name!r} what it means")
    return found


def _is_table(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _type(field: FieldInfo) -> str:
    limits = [
        f"{sign} {value}"
        for part in field.metadata
        for name, sign in _LIMITS.items()
        if (value := getattr(part, name, None)) is not None
    ]
    return ", ".join([_name(field.annotation), *limits])


def _name(kind: Any) -> str:  # noqa: ANN401
    kind = getattr(kind, "__value__", kind)
    origin, given = get_origin(kind), [part for part in get_args(kind) if part is not NoneType]
    if origin is Literal:
        return " \\| ".join(code(value) for value in given)
    if origin in (Union, UnionType):
        return " or ".join(_name(part) for part in given)
    if origin is tuple:
        return f"list of {_name(given[0])}"
    return "table" if origin is not None else _simple(kind)


def _simple(kind: Any) -> str:  # noqa: ANN401
    if members := getattr(kind, "__members__", None):
        return " \\| ".join(code(member.value) for member in members.values())
    if issubclass(kind, BaseModel):
        return "tables"
    names = {
        "str": "text",
        "int": "integer",
        "float": "number",
        "bool": "true or false",
        "SecretStr": "text",
    }
    return names.get(kind.__name__, "path")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return ""
    if isinstance(value, PurePath):
        value = value.as_posix()
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    return code(_toml(value))


def _toml(value: object) -> str:
    """Write a value as TOML and read it back."""
    text = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    if text is None:
        text = repr(value).replace("'", '"')
    if tomllib.loads(f"value = {text}")["value"] != value:
        raise SystemExit(f"cannot write {value!r} as TOML")
    return text
