"""The schema agents are shown and the check that is made are the same rule, for every tool."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aipm_cli import discovery
from aipm_cli.program import assemble
from aipm_cli.settings import Settings
from aipm_ui_gateway.ui_commands.payloads import COMMAND_TYPES
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from aipm_core import Access, Arguments, Call, InvalidArguments, Json, Tool
from aipm_core.pipeline.arguments import TOKEN_ARGUMENT, parser_of, schema_of
from aipm_core.pipeline.registered import Registered
from aipm_core.texts import Texts

RAW = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "tags": {"type": "array"}},
    "required": ["n"],
}
ANYTHING = st.one_of(
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(-1000, 1000),
    st.text(max_size=12),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
LEFT_OUT = object()
EXAMPLES = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def every_tool() -> Iterator[Registered]:
    classes = {found.name: found.load() for found in discovery.installed()}
    yield from assemble(Settings(data_dir=Path("unused")), classes).registered()
    raw: Tool[Any] = Tool(name="raw", run=_run, access=Access.SESSION, arguments=RAW)
    texts = Texts.load("aipm_core", "ja")
    yield Registered("test", raw, parser_of(raw, texts), lambda: schema_of(raw, texts))


async def _run(call: object, args: object) -> Json:
    return None


# The commands of user interfaces have fields that depend on each other, which their texts tell;
# what programs do by themselves is theirs to describe.
TOOLS = {
    registered.tool.words.removeprefix("tools."): registered
    for registered in every_tool()
    if registered.tool.audience != "native"
    and (registered.tool.audience != "ui" or registered.tool.name not in COMMAND_TYPES)
}


def own_schema(registered: Registered) -> dict[str, Any]:
    """Return the schema of the arguments without the token, which the core takes out first."""
    properties = {k: v for k, v in registered.schema["properties"].items() if k != TOKEN_ARGUMENT}
    return {**registered.schema, "properties": properties}


def accepts(registered: Registered, arguments: Mapping[str, Json]) -> bool:
    try:
        registered.parse(arguments)
    except InvalidArguments:
        return False
    return True


def fitting(rule: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Make values that a rule of ours allows; a keyword it does not know is an error."""
    if "enum" in rule or "const" in rule:
        return st.sampled_from(rule.get("enum") or [rule["const"]])
    if "anyOf" in rule:
        return st.one_of([fitting(choice) for choice in rule["anyOf"]])
    makers: dict[str | None, Callable[[Mapping[str, Any]], st.SearchStrategy[Any]]] = {
        "string": text,
        "integer": lambda r: st.integers(r.get("minimum", -99), r.get("maximum", 10**4)),
        "number": lambda r: st.floats(
            r.get("minimum", r.get("exclusiveMinimum", -99)) + 0.25, r.get("maximum", 10**4) - 0.25
        ),
        "boolean": lambda r: st.booleans(),
        "array": lambda r: st.lists(
            fitting(r.get("items", {"type": "string"})),
            min_size=r.get("minItems", 0),
            max_size=min(r.get("maxItems", 3), r.get("minItems", 0) + 3),
        ),
        "object": record,
        "null": lambda r: st.none(),
        None: lambda r: ANYTHING,
    }
    return makers[rule.get("type")](rule)


def text(rule: Mapping[str, Any]) -> st.SearchStrategy[str]:
    if "pattern" in rule:
        return st.from_regex(rule["pattern"], fullmatch=True)
    least = rule.get("minLength", 0)
    short = st.text(min_size=least, max_size=min(rule.get("maxLength", least + 20), least + 20))
    if "maxLength" not in rule:
        return short
    return st.one_of(short, st.just("字" * rule["maxLength"]))


def record(rule: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = {name: fitting(inner) for name, inner in rule.get("properties", {}).items()}
    required = {name: values.pop(name) for name in rule.get("required", ())}
    known = st.fixed_dictionaries(required, optional=values)
    others = rule.get("additionalProperties", True)
    if others is False:
        return known
    other = fitting(others) if isinstance(others, dict) else ANYTHING
    most = min(rule.get("maxProperties", 3), 3)
    more = st.dictionaries(st.text(max_size=4), other, max_size=most)
    return st.builds(lambda a, b: {**b, **a}, known, more)


def plausible(rule: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Make arguments that fit but for one thing: a value, a name too many, a name too few."""
    changes = [st.dictionaries(st.text(max_size=8), ANYTHING, max_size=1)]
    for name, inner in rule["properties"].items():
        changes += [st.fixed_dictionaries({name: wrong}) for wrong in (near(inner), ANYTHING)]
        changes.append(st.just({name: LEFT_OUT}))
    return st.builds(changed, record(rule), st.one_of(changes))


def changed(fit: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**fit, **change}.items() if value is not LEFT_OUT}


def near(rule: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Make values just beyond the limits that are told, and far beyond any that are not."""
    beyond: list[Any] = ["", "x" * 10**5, 0, -1, 10**9, -(10**9), 0.5, [], ["x"] * 10**4, {}]
    if "maxLength" in rule:
        beyond += ["字" * (rule["maxLength"] + 1), "x" * rule["maxLength"]]
    if "maximum" in rule:
        beyond += [rule["maximum"] + 1, rule["maximum"] + 0.5]
    if "minimum" in rule:
        beyond += [rule["minimum"] - 1, rule["minimum"] - 0.5]
    if "maxItems" in rule:
        beyond.append(["x"] * (rule["maxItems"] + 1))
    return st.sampled_from(beyond)


def whole_floats(value: Json) -> bool:
    """Return whether 1.0 is in there: an integer to JSON Schema, not to an exact check of types."""
    if isinstance(value, dict):
        return any(whole_floats(item) for item in value.values())
    if isinstance(value, list):
        return any(whole_floats(item) for item in value)
    return isinstance(value, float) and value == int(value)


@pytest.mark.parametrize("name", TOOLS)
def test_what_the_schema_allows_is_accepted(name: str) -> None:
    registered = TOOLS[name]

    def check(arguments: dict[str, Json]) -> None:
        assume(not whole_floats(arguments))
        assert accepts(registered, arguments), arguments

    EXAMPLES(given(record(own_schema(registered)))(check))()


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_accepted_is_what_the_schema_allows(name: str) -> None:
    registered = TOOLS[name]
    schema = own_schema(registered)
    validator = Draft202012Validator(schema)

    def check(arguments: dict[str, Json]) -> None:
        assume(not whole_floats(arguments))
        assert accepts(registered, arguments) == validator.is_valid(arguments), str(arguments)[:500]

    EXAMPLES(given(plausible(schema))(check))()


@pytest.mark.parametrize("name", TOOLS)
def test_the_schema_is_closed_and_carries_the_token(name: str) -> None:
    schema = TOOLS[name].schema
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    people = TOOLS[name].tool.audience == "ui"
    assert (TOKEN_ARGUMENT in schema["properties"]) == (name != "authenticate" and not people)
    assert "$ref" not in str(schema)


class Corner(Arguments):
    """One corner."""

    x: int
    y: int = 0


class Drawing(Arguments):
    """Arguments that hold others."""

    corners: list[Corner]
    start: Corner | None = None


async def draw(call: Call, args: Drawing) -> Json:
    """Draw."""
    return len(args.corners)


def test_what_holds_others_is_shown_without_references() -> None:
    shown = schema_of(
        Tool(name="draw", run=draw, arguments=Drawing, access=Access.ANYONE, description="d"),
        Texts.load("aipm_core", "en"),
    )
    assert "$" not in str(shown)
    corner = shown["properties"]["corners"]["items"]
    assert (corner["required"], corner["additionalProperties"]) == (["x"], False)
    check = Draft202012Validator(shown)
    assert check.is_valid({"corners": [{"x": 1}], "start": {"x": 1, "y": 2}})
    assert not check.is_valid({"corners": [{"x": 1, "z": 1}]})
    assert not check.is_valid({"corners": [{"y": 1}]})
