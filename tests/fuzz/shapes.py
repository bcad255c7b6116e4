"""A JSON Schema as a hypothesis strategy: values that fit it, and now and then others."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.choices import NUMBERS, TEXTS

SCALARS = st.sampled_from(TEXTS) | st.sampled_from(NUMBERS) | st.text(max_size=8)
WILD: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(TEXTS), inner, max_size=3)
    ),
    max_leaves=6,
)


def shaped(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Make what a schema asks for, or nearly."""
    fitting = _fitting(schema)
    return st.integers(0, 9).flatmap(lambda luck: fitting if luck else WILD)


def _fitting(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if "anyOf" in schema:
        return st.one_of([shaped(choice) for choice in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return _strings(schema)
        case "integer":
            return st.integers(schema.get("minimum", -9) - 1, schema.get("maximum", 2**63) + 1)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(shaped(schema.get("items", {})), max_size=3)
        case "object":
            return _objects(schema)
    return WILD


def _strings(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    plain = st.sampled_from(TEXTS) | st.text(max_size=8)
    if (most := schema.get("maxLength")) is None:
        return plain
    return plain | st.integers(0, 1).map(lambda more: "x" * (most + more))


def _objects(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    inner = {name: shaped(value) for name, value in schema.get("properties", {}).items()}
    required = {name: inner.pop(name) for name in schema.get("required", ()) if name in inner}
    return st.fixed_dictionaries(required, optional=inner)
