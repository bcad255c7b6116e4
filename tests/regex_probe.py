"""Tries every regular expression of the project on hostile megabytes; prints what each took.

What it took is told in scans: the time in which a plain expression looks at every place of the
same megabyte, measured beside it, so that a slow or busy machine changes both alike.

Runs in a process of its own: a bad expression holds the interpreter and cannot be interrupted.
"""

import json
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

SIZE = 1024 * 1024
ATTEMPTS = 3
# A processor that others use too makes everything look slow now and then; the expression is not.
MORE_ATTEMPTS = 20
PLAIN = re.compile(r"\b(?=zz)")
ENOUGH_SCANS = 1.0
found: dict[tuple[str | bytes, int], re.Pattern[Any]] = {}


def record_compiled() -> None:
    """Note every expression compiled by code of ours from now on, at import or later."""
    compile_ = re.compile

    def compile_and_note(pattern: Any, flags: Any = 0) -> re.Pattern[Any]:
        made = compile_(pattern, flags)
        if sys._getframe(1).f_globals.get("__name__", "").startswith("aipm_"):
            found[made.pattern, made.flags] = made
        return made

    re.compile = compile_and_note


def modules() -> Iterator[ModuleType]:
    names = {"aipm_core"} | {
        re.split(r"[.:]", point.value)[0] for point in entry_points(group="aipm")
    }
    for name in sorted(n for n in names if n.startswith("aipm_")):
        package = import_module(name)
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{name}."):
            yield import_module(info.name)


async def build_everything(place: Path) -> None:
    """Build all plugins: some expressions are made of settings."""
    from aipm_cli.program import open_runtime
    from aipm_cli.settings import Settings

    async with open_runtime(Settings(data_dir=place)):
        pass


def letters_of(pattern: str) -> list[str]:
    """Return the characters an expression talks about: the likeliest to mislead it."""
    return list(dict.fromkeys([*pattern[:200], *'"\\@:-_. [{0a\n']))


def hostile(pattern: str) -> Iterator[str]:
    letters = letters_of(pattern)
    yield from letters
    literals = re.findall(r"[A-Za-z0-9_@＠ぁ-ヿ一-鿿-]{2,}", pattern)
    for literal in dict.fromkeys(literals):
        yield from (literal, literal[:-1])
    yield from ('\\"', '""', "[{", "@@", "＠＠", "@＠", "a-", "a b", "-_", "::")


@cache
def megabyte(piece: str) -> str:
    return piece * (SIZE // len(piece.encode()))


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@cache
def plain_seconds() -> float:
    """Return how long a scan takes when nobody is in the way."""
    return min(seconds(plain_scan) for _ in range(MORE_ATTEMPTS))


def plain_scan() -> object:
    return PLAIN.search(megabyte("a"))


def cost(work: Callable[[], object]) -> float:
    """Return how many scans the work takes, at its best and beside the scan at its best."""
    best, scan = seconds(work), plain_seconds()
    attempts = 1
    while best > scan * ENOUGH_SCANS and attempts < (
        ATTEMPTS if best < scan * 5 else MORE_ATTEMPTS
    ):
        best, scan = min(best, seconds(work)), max(scan, min(seconds(plain_scan), scan * 4))
        attempts += 1
    return best / scan


def worst(pattern: re.Pattern[Any]) -> tuple[float, str]:
    source = pattern.pattern
    binary = isinstance(source, bytes)
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    slowest = (0.0, "")
    for piece in hostile(text):
        whole: Any = megabyte(piece)
        whole = whole.encode() if binary else whole
        broken = whole + (b"!" if binary else "!")
        for run, subject in (
            (pattern.search, broken),
            (pattern.match, broken),
            (pattern.fullmatch, broken),
            (pattern.fullmatch, whole),
        ):
            took = cost(partial(run, subject))
            slowest = max(slowest, (took, f"{run.__name__} on {piece!r}…"))
    return slowest


def main(place: Path) -> None:
    import anyio

    record_compiled()
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, re.Pattern):
                found[value.pattern, value.flags] = value
    anyio.run(build_everything, place)
    report = {str(pattern.pattern): worst(pattern) for pattern in found.values()}
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
