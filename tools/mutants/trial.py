"""One mutant after the other, each in a copy of the tree, against the tests of its module."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tools.mutants.operators import operators

ROOT = Path(__file__).resolve().parent.parent.parent
_COPIED = ("aipm_core", "plugins", "tests", "examples", "benchmarks", "tools", "docs", "deploy")
_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A changed module."""

    module: str
    operator: str
    line: int
    before: str
    after: str
    code: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the tests said about a mutant."""

    mutant: Mutant
    survived: bool


def mutants_of(module: str, most: int, seed: int) -> list[Mutant]:
    """Return up to ``most`` mutants of a module, chosen by chance, the same ones for one seed."""
    source = (ROOT / module).read_text(encoding="utf-8")
    found = list(_all_mutants(module, source))
    chosen = random.Random(f"{seed}:{module}").sample(found, min(most, len(found)))  # noqa: S311
    return sorted(chosen, key=lambda mutant: (mutant.line, mutant.operator, mutant.after))


def _all_mutants(module: str, source: str) -> Iterator[Mutant]:
    for name, operator in operators():
        places = [
            place
            for node in ast_nodes(get_ast(source))
            for place in operator.mutation_positions(node)
        ]
        for occurrence in range(len(places)):
            code = mutate_code(source, operator, occurrence)
            if code is not None and code != source and _compiles(code):
                yield _described(module, name, source, code)


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _described(module: str, operator: str, source: str, code: str) -> Mutant:
    pairs = zip(source.splitlines(), code.splitlines(), strict=False)
    line, (before, after) = next(
        (number, pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1]
    )
    return Mutant(
        module=module,
        operator=operator,
        line=line,
        before=before.strip(),
        after=after.strip(),
        code=code,
    )


class Tree:
    """A copy of the repository that can be changed; what is installed comes after it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        shutil.rmtree(place, ignore_errors=True)
        for name in _COPIED:
            ignored = shutil.ignore_patterns("__pycache__", ".venv")
            shutil.copytree(ROOT / name, place / name, ignore=ignored)
        for file in ("pyproject.toml", "conftest.py", "README.md", "zensical.toml"):
            shutil.copy(ROOT / file, place / file)
        sources = [place, *sorted((place / "plugins").iterdir())]
        self._environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, sources)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def passes(self, tests: Sequence[str]) -> bool:
        """Return whether the tests pass; those that never end have failed."""
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(  # noqa: S603
                [*pytest, "-m", "not long", *tests],
                cwd=self._place,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def judge(self, mutant: Mutant, tests: Sequence[str]) -> Outcome:
        """Put a mutant in the module's place, run the tests, put the module back."""
        file = self._place / mutant.module
        file.write_text(mutant.code, encoding="utf-8")
        try:
            return Outcome(mutant=mutant, survived=self.passes(tests))
        finally:
            shutil.copy(ROOT / mutant.module, file)
