"""Gives a target its inputs: the committed ones, those of hypothesis, those of the byte engines."""

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from tests.fuzz.engines import has_atheris
from tests.fuzz.loading import corpus_of, load
from tests.fuzz.target import Target

REPOSITORY = Path(__file__).parent.parent.parent
INPUTS, STRUCTURED = 100_000, 1_000
MANY_INPUTS, MANY_STRUCTURED = 10_000_000, 50_000
_EXECUTED = re.compile(r"(?:number_of_executed_units|executed): +(\d+)")


def fuzz(name: str, place: Path) -> None:
    """Put 100,000 inputs to a target, the same ones each time."""
    assert _total(name, place, INPUTS, STRUCTURED, seed=1) >= INPUTS


def fuzz_long(name: str, place: Path) -> None:
    """Put ten million inputs to a target, other ones each time."""
    seed = random.SystemRandom().randrange(1, 2**31)
    assert _total(name, place, MANY_INPUTS, MANY_STRUCTURED, seed=seed) >= MANY_INPUTS


def _total(name: str, place: Path, inputs: int, structured: int, *, seed: int) -> int:
    target, known = load(name), corpus_of(name)
    assert known, f"tests/fuzz/corpus/{name} holds no input to start from"
    for file in known:
        target.take(file.read_bytes())
    drawn = by_examples(target, structured, seed)
    return drawn + by_bytes(name, inputs - drawn, seed, place)


def by_examples(target: Target[Any], examples: int, seed: int) -> int:
    """Let hypothesis build inputs; return how many it did."""
    done = 0

    @settings(
        max_examples=examples,
        derandomize=seed == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(target.values)
    def examine(value: Any) -> None:
        nonlocal done
        done += 1
        target.check(value)

    examine()
    return done


def by_bytes(name: str, runs: int, seed: int, place: Path, engine: str | None = None) -> int:
    """Run the byte engine in a process of its own; return how many inputs it says it put."""
    chosen = engine or ("atheris" if has_atheris() else "mutation")
    command = [sys.executable, "-m", "tests.fuzz", name, "--engine", chosen]
    command += ["--runs", str(runs), "--seed", str(seed), "--place", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=REPOSITORY)
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{' '.join(command[1:])}\n{said[-6000:]}"
    counted = _EXECUTED.findall(said)
    assert counted, said[-2000:]
    return int(counted[-1])
