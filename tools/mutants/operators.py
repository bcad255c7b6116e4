"""How a module is changed: the plain operators of cosmic-ray, and three that matter for checks.

cosmic-ray changes comparisons, truth values and loops. What it leaves out is what a check is made
of here: a refusal that is raised, a check that is awaited, a condition inside a statement of SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from cosmic_ray.plugins import get_operator

Position: TypeAlias = tuple[tuple[int, int], tuple[int, int]]

PLAIN = (
    "AddNot",
    "ReplaceAndWithOr",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ZeroIterationForLoop",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_GtE_Lt",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_LtE_Gt",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
)


class Operator(Protocol):
    """What cosmic-ray asks of an operator."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:  # noqa: ANN401
        """Yield where a node can be changed."""
        ...

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ANN401
        """Change the node at one of these places."""
        ...


class DropStatement:
    """A refusal that is not raised, a check that is not made: the statement becomes ``...``."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:  # noqa: ANN401
        """Yield statements that raise, and calls whose result nobody keeps."""
        if node.type == "simple_stmt" and self._droppable(node.children[0]):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ANN401
        """Put nothing in the statement's place."""
        first = node.get_first_leaf()
        first.value = "..."
        kept = {id(first), id(node.children[-1])}
        for leaf in _leaves(node):
            if id(leaf) not in kept:
                leaf.prefix = leaf.value = ""
        return node

    @staticmethod
    def _droppable(statement: Any) -> bool:  # noqa: ANN401
        if statement.type in ("atom_expr", "power"):
            return bool(statement.children[-1].type == "trailer")
        return bool(statement.type == "raise_stmt" and len(statement.children) > 1)


class LoosenSql:
    """A condition of a statement that always holds; its parameter stays where it was."""

    _condition = re.compile(r"(?<=\bwhere )[\w.]+ [=<>]+ \?|(?<=\band )[\w.]+ [=<>]+ \?")

    def mutation_positions(self, node: Any) -> Iterator[Position]:  # noqa: ANN401
        """Yield the conditions in a string."""
        if node.type == "string":
            for _ in self._condition.finditer(node.value):
                yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ANN401
        """Let one of the conditions hold always."""
        found = list(self._condition.finditer(node.value))[index]
        loose = f"({found.group()} or 1 = 1)"
        node.value = node.value[: found.start()] + loose + node.value[found.end() :]
        return node


def operators() -> Sequence[tuple[str, Operator]]:
    """Return every operator with its name."""
    plain = [(name, get_operator(f"core/{name}")()) for name in PLAIN]
    return [*plain, ("DropStatement", DropStatement()), ("LoosenSql", LoosenSql())]


def _leaves(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if not hasattr(node, "children"):
        yield node
        return
    for child in node.children:
        yield from _leaves(child)
