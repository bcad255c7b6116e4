"""Every place in the program that writes to the store, found in its source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NOT_THE_PROGRAM = {"testing.py", "testkit.py"}


@dataclass(frozen=True)
class WritePath:
    """One ``….store.write``: where it stands. Several in one function are numbered."""

    module: str
    function: str
    number: int
    first: int
    last: int

    @property
    def name(self) -> str:
        """What tests call it."""
        return f"{self.module}:{self.function}" + (f"#{self.number}" if self.number > 1 else "")


def write_paths() -> dict[str, WritePath]:
    """Find them all, by name."""
    found: dict[str, WritePath] = {}
    for module, file in _modules():
        counted: dict[str, int] = {}
        for function, first, last in _writers(ast.parse(file.read_text(encoding="utf-8")), ()):
            counted[function] = counted.get(function, 0) + 1
            path = WritePath(module, function, counted[function], first, last)
            found[path.name] = path
    return found


def _modules() -> Iterator[tuple[str, Path]]:
    for root in (ROOT, *sorted((ROOT / "plugins").iterdir())):
        for package in sorted(root.glob("aipm_*/")):
            for file in sorted(package.rglob("*.py")):
                if file.name not in _NOT_THE_PROGRAM:
                    yield ".".join(file.relative_to(root).with_suffix("").parts), file


def _writers(
    node: ast.AST, within: tuple[str, ...], lines: tuple[int, int] = (0, 0)
) -> Iterator[tuple[str, int, int]]:
    """Yield the function around each write, and the lines of the statement it stands in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        within = (*within, node.name, "<locals>")
    elif isinstance(node, ast.ClassDef):
        within = (*within, node.name)
    elif isinstance(node, ast.Call):
        lines = (node.lineno, node.end_lineno or node.lineno)
    elif _is_write(node):
        yield ".".join(within).removesuffix(".<locals>"), *lines
    for child in ast.iter_child_nodes(node):
        yield from _writers(child, within, lines)


def _is_write(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr != "write":
        return False
    store = node.value
    name = store.attr if isinstance(store, ast.Attribute) else getattr(store, "id", "")
    return name.lstrip("_") == "store"
