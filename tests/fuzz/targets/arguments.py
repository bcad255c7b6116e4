"""The arguments of every tool there is, against the JSON Schema agents are shown.

What a tool takes must fit its schema, and what fits its schema must be taken: an agent knows
nothing else. Two liberties: ``null`` may be taken for "left out", and ``1.0`` is not ``1``.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from aipm_cli import discovery
from aipm_cli.program import assemble
from aipm_cli.settings import Settings
from aipm_ui_gateway.ui_commands.payloads import COMMAND_TYPES
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from aipm_core import InvalidArguments
from aipm_core.pipeline.arguments import TOKEN_ARGUMENT
from aipm_core.pipeline.registered import Registered
from tests.fuzz.choices import Choices
from tests.fuzz.shapes import shaped
from tests.fuzz.target import Target

SEPARATORS = dict.fromkeys(range(0x1C, 0x20), "x")


class Attempt(NamedTuple):
    """Arguments for one of the tools."""

    tool: int
    arguments: dict[str, Any]


class Entry(NamedTuple):
    """A tool, its schema without the token, which the core takes away before, and its reader."""

    registered: Registered
    schema: dict[str, Any]
    validator: Draft202012Validator


@cache
def tools() -> tuple[Entry, ...]:
    settings = Settings(data_dir=Path("/nowhere"))
    classes = discovery.load(discovery.choose(discovery.installed(), settings), settings)
    every = assemble(settings, classes).registered()
    # Commands have fields that depend on each other; they are a target of their own. A program's
    # own tools take whatever it gives them.
    return tuple(
        entry_of(one)
        for one in every
        if one.tool.name not in COMMAND_TYPES and one.tool.audience != "native"
    )


def entry_of(registered: Registered) -> Entry:
    shown = registered.schema
    own = {name: value for name, value in shown["properties"].items() if name != TOKEN_ARGUMENT}
    schema = {**shown, "properties": own}
    return Entry(registered, schema, Draft202012Validator(schema))


def fits(attempt: Attempt) -> bool:
    entry = tools()[attempt.tool % len(tools())]
    optional = entry.schema["properties"].keys() - entry.schema.get("required", ())
    told = {k: v for k, v in attempt.arguments.items() if v is not None or k not in optional}
    whole = {k: v for k, v in told.items() if not _is_number(entry.schema, k)}
    return entry.validator.is_valid(_visible(told)) and not _is_loose(whole)


def _is_number(schema: dict[str, Any], name: str) -> bool:
    """Return whether fractions are welcome in an argument."""
    shape: dict[str, Any] = schema["properties"].get(name, {})
    return shape.get("type") == "number"


def _visible(told: dict[str, Any]) -> dict[str, Any]:
    """Replace what is a blank in Python's expressions but not in those of JSON Schema."""
    return {k: v.translate(SEPARATORS) if isinstance(v, str) else v for k, v in told.items()}


def _is_loose(value: Any) -> bool:
    """Find ``1.0`` where the schema's ``integer`` would let it pass, and what is not text."""
    if isinstance(value, dict):
        return any(_is_loose(name) or _is_loose(inner) for name, inner in value.items())
    if isinstance(value, list):
        return any(map(_is_loose, value))
    if isinstance(value, str):
        return any("\ud800" <= letter <= "\udfff" for letter in value)
    return isinstance(value, float)


def parse(attempt: Attempt) -> object:
    registered = tools()[attempt.tool % len(tools())].registered
    try:
        return registered.parse(attempt.arguments)
    except InvalidArguments as error:
        return error


def check(attempt: Attempt) -> None:
    taken = parse(attempt)
    if not isinstance(taken, InvalidArguments):
        assert fits(attempt) or has_numbers(attempt.arguments), "taken against its schema"
        return
    assert (taken.code, taken.status) == ("invalid_arguments", 400)
    assert str(taken).encode(errors="surrogatepass").strip()
    assert not fits(attempt) or None in attempt.arguments.values(), str(taken)


def has_numbers(value: Any) -> bool:
    """Free-form objects may hold floats; the second opinion does not look that deep."""
    return any(isinstance(inner, dict | list) and _is_loose(inner) for inner in value.values())


def read(data: bytes) -> Attempt:
    choices = Choices(data)
    number = choices.byte()
    schema = tools()[number % len(tools())].schema
    made = choices.shaped(schema)
    return Attempt(number, made if isinstance(made, dict) else {"x": made})


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    number = draw(st.integers(0, len(tools()) - 1))
    made = draw(shaped(tools()[number].schema))
    return Attempt(number, made if isinstance(made, dict) else {"x": made})


TARGET = Target[Attempt](read=read, check=check, values=attempts(), parse=parse, longest=80)
