"""Checks a table of settings, and says in one sentence which key is wrong and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, SecretStr, ValidationError

from aipm_core import ConfigError, Json

_LARGEST_NUMBER = 2**53  # beyond it no time-out can be set and no date be written
M = TypeVar("M", bound=BaseModel)


def checked(model: type[M], values: Mapping[str, Json], where: str) -> M:
    """Validate ``values``, or say in one sentence which key is wrong and why."""
    if model.model_config.get("extra") != "allow":
        for key in values:
            if key not in _names(model):
                raise ConfigError(unknown_key(where, key, _names(model)))
    try:
        made = model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_problem(model, error)}") from error
    for place, number in _numbers(made.model_dump()):
        if not -_LARGEST_NUMBER <= number <= _LARGEST_NUMBER:  # nor is NaN within any bounds
            raise ConfigError(f"{where}: {place}: {number!r:.40} is no number to work with")
    return made


def unknown_key(where: str, key: str, known: Iterable[str]) -> str:
    """Say that a key is unknown, and which one was probably meant."""
    names = sorted(known)
    near = get_close_matches(key, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(names) or 'none'}"
    return f"{where}: unknown key {key!r}; {hint}"


def _numbers(value: Json, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _numbers(inner, f"{place}.{number}")
    elif isinstance(value, int | float):
        yield place, value


def _names(model: type[BaseModel]) -> set[str]:
    """Return the keys of a table: what is excluded from it is no key."""
    return {name for name, field in model.model_fields.items() if not field.exclude}


def _problem(model: type[BaseModel], error: ValidationError) -> str:
    problems = error.errors()
    # A key that is misspelt is also one that is missing: what was written is what helps.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        *parents, key = first["loc"]
        nested = _nested(model, [str(parent) for parent in parents])
        return unknown_key(f"[{'.'.join(map(str, parents))}]", str(key), _names(nested))
    told = f"{place}: " if place else ""
    if first["type"] == "value_error":  # a check of the model's own says what it wants to be said
        return f"{told}{first['ctx']['error']}"
    field = model.model_fields.get(str(first["loc"][0])) if first["loc"] else None
    if field is not None and field.annotation is SecretStr:
        return f"{told}{first['msg'].lower()}"
    return f"{told}{first['msg'].lower()}, not {first['input']!r}"


def _nested(model: type[BaseModel], path: Iterable[str]) -> type[BaseModel]:
    for name in path:
        field = model.model_fields.get(name)
        model = _table_in(field.annotation if field else None) or model
    return model


def _table_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401
    """Find the table that a key holds, alone or in a list."""
    kinds = (annotation, *get_args(annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)
