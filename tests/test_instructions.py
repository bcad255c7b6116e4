"""Agents follow an ``instruction``, so no word of somebody else may stand in one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_architecture import PACKAGES, REPOSITORY, places, texts

# Made by the server, chosen from a closed list, or set by whoever runs it; never free text.
ALLOWED = {
    *("task_id", "conversation_id", "request_id"),
    *("initiator", "partner", "ended_by"),  # ids of agents
    *("result", "end_reason"),  # of a closed list
    *("word", "action"),  # from the settings
    *('"result"', '"error"'),  # no places: JSON in a text that is never filled
}
# Handed on as they are: checked where they are made.
HANDED_ON = {
    "instruction",
    "said",
    "row['instruction'] or self._instruction(row, reader)",
    "self._instruction(result)",
    "await self._instruction(tx, task, status, running=running)",
}
MAKER = "_instruction"


def is_instruction(key: str) -> bool:
    return any(part.startswith("instruction") for part in key.split("."))


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("locale", ["ja", "en"])
def test_instructions_have_places_for_ids_only(package: str, locale: str) -> None:
    file = REPOSITORY / package / "locale" / f"{locale}.toml"
    found = texts(file) if file.exists() else {}
    places_of = {key: places(text) - ALLOWED for key, text in found.items() if is_instruction(key)}
    assert {key: names for key, names in places_of.items() if names} == {}


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted((REPOSITORY / "plugins").glob("*/aipm_*/**/*.py")):
        yield file, ast.parse(file.read_text(encoding="utf-8"))


def given(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield everything that is given out as an instruction."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "instruction":
                    yield value
        elif isinstance(node, ast.keyword) and node.arg == "instruction":
            yield node.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == MAKER:
            yield node


def keys(node: ast.AST) -> Iterator[str]:
    """Yield the keys of the texts an expression takes from a catalogue."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and ast.unparse(one.func).endswith("texts"):
            yield ast.unparse(one.args[0])


def test_every_instruction_comes_from_such_a_text() -> None:
    found = [(file, value) for file, tree in modules() for value in given(tree)]
    assert len(found) > 10
    for file, value in found:
        used = list(keys(value))
        assert used or ast.unparse(value) in HANDED_ON, (file.name, ast.unparse(value))
        assert all("instruction" in key for key in used), (file.name, used)
