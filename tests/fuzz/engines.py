"""What comes up with inputs: atheris, guided by coverage, or plain mutation where it has no wheel.

Both start from the committed corpus, and both end the process with exit code 0 only if every input
kept its promise.
"""

import hashlib
import random
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.fuzz.target import Target

BROKEN_PROMISE = 77  # what libFuzzer exits with
_HANG = 60  # seconds for one input of some hundred bytes


def has_atheris() -> bool:
    return find_spec("atheris") is not None


def observed(engine: str) -> AbstractContextManager[Any]:
    """Make what is imported inside report its coverage, if the engine uses it."""
    if engine != "atheris":
        return nullcontext()
    import atheris

    ours = {point.value.partition(".")[0] for point in entry_points(group="aipm")}
    instrumented: AbstractContextManager[Any] = atheris.instrument_imports(
        include=[
            "aipm_core",
            "tests.fuzz.targets",
            *sorted(name for name in ours if name.startswith("aipm_")),
        ]
    )
    return instrumented


def by_coverage(
    target: Target[Any], known: Sequence[bytes], runs: int, seed: int, place: Path
) -> None:
    """Let libFuzzer work; it ends the process."""
    import atheris

    found, words = place / "found", place / "words"
    found.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(known):
        (found / f"known-{number}").write_bytes(data)
    words.write_text(
        "\n".join(["#", *(f'"{_escaped(word)}"' for word in target.words if word)]),
        encoding="ascii",
    )
    options = [
        *(f"-runs={runs}", f"-seed={seed}", f"-max_len={target.longest}", f"-timeout={_HANG}"),
        *(f"-dict={words}", f"-artifact_prefix={place}/", "-print_final_stats=1", "-reload=0"),
        *("-rss_limit_mb=4096", "-len_control=0", str(found)),
    ]
    atheris.Setup([sys.argv[0], *options], target.take)
    atheris.Fuzz()


def by_mutation(
    target: Target[Any], known: Sequence[bytes], runs: int, seed: int, place: Path
) -> None:
    """Mutate the corpus at random, always in the same way for the same seed."""
    done = 0
    for data in _mutated(known, target, random.Random(seed)):
        if done == runs:
            break
        done += 1
        try:
            target.take(data)
        except Exception:  # noqa: BLE001 - every kind is a broken promise
            traceback.print_exc()
            kept = place / f"crash-{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"
            kept.write_bytes(data)
            print(f"input {done}, kept in {kept}: {data!r}", file=sys.stderr)
            sys.exit(BROKEN_PROMISE)
    print(f"executed: {done}", file=sys.stderr)


def _mutated(seeds: Sequence[bytes], target: Target[Any], chance: random.Random) -> Iterator[bytes]:
    yield from seeds
    pool = [*seeds, b""]
    while True:
        data = bytearray(chance.choice(pool))
        for _ in range(chance.randint(1, 6)):
            _mutate(data, pool, target.words, chance)
        made = bytes(data[: target.longest])
        if chance.random() < 0.02:
            pool.append(made)
            del pool[len(seeds) + 1 : -500]
        yield made


def _mutate(
    data: bytearray, pool: Sequence[bytes], words: Sequence[bytes], chance: random.Random
) -> None:
    start = chance.randint(0, len(data))
    end = min(len(data), start + chance.randint(0, 8))
    match chance.randrange(6):
        case 0:
            del data[start:end]
        case 1:
            data[start:end] = chance.randbytes(chance.randint(1, 4))
        case 2:
            data[start:start] = chance.choice(words) if words else bytes(data[start:end])
        case 3:
            data[start:start] = data[start:end] * chance.randint(1, 4)
        case 4:
            other = chance.choice(pool)
            data[start:] = other[chance.randint(0, len(other)) :]
        case _:
            if start < len(data):
                data[start] ^= 1 << chance.randrange(8)


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)
