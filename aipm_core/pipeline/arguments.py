"""The arguments of a tool: the schema agents are shown, and the check that goes with it.

Schemas are made once. A raw JSON Schema keeps its validator: ``jsonschema.validate()`` costs
1.4 ms a call, a kept validator 20 µs, a pydantic model 1.3 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from aipm_core.errors import CallError, InvalidArguments
from aipm_core.models import Json
from aipm_core.texts import Texts
from aipm_core.tools import AnyTool

TOKEN_ARGUMENT = "session_token"  # noqa: S105 - the argument's name  # nosec B105
_NOT_BLANK = r"\S"  # the pattern by which arguments ask for something to read
Parse: TypeAlias = Callable[[Mapping[str, Json]], Any]


def schema_of(tool: AnyTool, texts: Texts) -> dict[str, Json]:
    """Return the JSON Schema of a tool, with texts from the plugin's catalogue."""
    if isinstance(tool.arguments, Mapping):
        schema = dict(tool.arguments)
    else:
        schema = _plain(tool.arguments.model_json_schema())
    properties = {name: dict(value) for name, value in schema.get("properties", {}).items()}
    for name, value in properties.items():
        if text := texts.find(f"{tool.words}.args.{name}"):
            value["description"] = text
    if tool.takes_token and TOKEN_ARGUMENT not in properties:
        properties = {TOKEN_ARGUMENT: {"type": "string"}, **properties}
    ordered: dict[str, Json] = {"type": "object", "properties": properties}
    if schema.get("required"):
        ordered["required"] = schema["required"]
    rest = {key: value for key, value in schema.items() if key not in ordered}
    return {**ordered, "additionalProperties": False, **rest}


def parser_of(tool: AnyTool, texts: Texts, own: Texts | None = None) -> Parse:
    """Return the function that checks raw arguments and makes what ``run`` takes.

    A check of a model's own (``PydanticCustomError``) is explained by the plugin's text
    ``arguments.<type>``; with a ``code`` in its context that is the code of the refusal.
    """
    if isinstance(tool.arguments, Mapping):
        return _schema_parser(tool.arguments, texts)
    return _model_parser(tool.arguments, texts, own)


def _model_parser(model: type[BaseModel], texts: Texts, own: Texts | None) -> Parse:
    def parse(raw: Mapping[str, Json]) -> BaseModel:
        try:
            return model.model_validate(raw)
        except ValidationError as error:
            raise refusal_of(error, texts, own) from None

    return parse


def refusal_of(error: ValidationError, texts: Texts, own: Texts | None) -> CallError:
    """Make the refusal of arguments that do not fit."""
    context = error.errors(include_url=False, include_input=False)[0].get("ctx", {})
    message = explain(error, texts, own)
    if isinstance(code := context.get("code"), str):
        return CallError(message, code=code, status=400)
    return InvalidArguments(message)


def _schema_parser(schema: Mapping[str, Json], texts: Texts) -> Parse:
    @cache
    def validator() -> Any:  # noqa: ANN401 - imported when first used
        from jsonschema import Draft202012Validator

        return Draft202012Validator({"type": "object", "additionalProperties": False, **schema})

    def parse(raw: Mapping[str, Json]) -> Mapping[str, Json]:
        for problem in validator().iter_errors(dict(raw)):
            field = ".".join(map(str, problem.absolute_path)) or problem.json_path
            raise InvalidArguments(
                texts("arguments.invalid", field=field, reason=problem.message)
            ) from None
        return raw

    return parse


def explain(error: ValidationError, texts: Texts, own: Texts | None = None) -> str:
    """Name the first wrong field and why, in the reader's language where there is a text."""
    problem = error.errors(include_url=False, include_context=True)[0]
    values = {str(k): v for k, v in problem.get("ctx", {}).items()}
    if problem["type"] == "literal_error":
        values["expected"] = values["expected"].replace("' or '", "', '")  # no English in a list
    kind = "blank" if values.get("pattern") == _NOT_BLANK else problem["type"]
    text = (own and own.find(f"arguments.{kind}")) or texts.find(f"arguments.{kind}")
    reason = text.format(**values) if text else problem["msg"]
    field = ".".join(map(str, problem["loc"])) or "arguments"
    return texts("arguments.invalid", field=field, reason=reason)


def _plain(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Drop what only costs an agent tokens: titles, definitions by reference, ``null`` choices."""
    definitions = schema.get("$defs", {})

    def walk(node: Json) -> Json:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            node = {**definitions[node["$ref"].rsplit("/", 1)[-1]], **node}
        node = {k: v for k, v in node.items() if k not in {"title", "$defs", "$ref"}}
        named = {name: walk(value) for name, value in node.get("properties", {}).items()}
        node = {k: named if k == "properties" else walk(v) for k, v in node.items()}
        return _without_null(node)

    plain: dict[str, Json] = walk(dict(schema))
    plain.pop("description", None)
    return plain


def _without_null(node: dict[str, Json]) -> dict[str, Json]:
    """An optional argument is one that may be left out; ``null`` is accepted but not advertised."""
    choices = [c for c in node.get("anyOf", ()) if c != {"type": "null"}]
    if choices:
        node = {k: v for k, v in node.items() if k != "anyOf"}
        node |= choices[0] if len(choices) == 1 else {"anyOf": choices}
    if node.get("default", ...) in (None, ""):
        del node["default"]
    return node
