"""Engines must do what they say: put that many inputs, and notice a broken promise."""

import re
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz.engines import has_atheris
from tests.fuzz.loading import names
from tests.fuzz.suite import by_bytes, by_examples
from tests.fuzz.target import Target

ENGINES = ["mutation", *(["atheris"] if has_atheris() else [])]
OWN = """
from hypothesis import strategies as st
from tests.fuzz.target import Target

def check(data):
    assert {promise}

TARGET = Target(read=bytes, check=check, values=st.binary(), words=(b"needle",))
"""


def own_target(place: Path, promise: str) -> str:
    """Write a target the way a plugin's author would, with one input to start from."""
    file = place / "fuzz_own.py"
    file.write_text(OWN.format(promise=promise), encoding="utf-8")
    corpus = place / "corpus/fuzz_own"
    corpus.mkdir(parents=True)
    (corpus / "first").write_bytes(b"hay")
    return str(file)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_puts_exactly_so_many_inputs(tmp_path: Path, engine: str) -> None:
    own = own_target(tmp_path, "len(data) <= 256")
    assert by_bytes(own, 3000, 1, tmp_path / "out", engine) == 3000


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_finds_and_keeps_what_breaks_a_promise(tmp_path: Path, engine: str) -> None:
    own, out = own_target(tmp_path, "b'needle' not in data"), tmp_path / "out"
    with pytest.raises(AssertionError, match="AssertionError"):
        by_bytes(own, 200_000, 1, out, engine)
    (kept,) = out.glob("crash-*")
    assert b"needle" in kept.read_bytes()


def test_hypothesis_finds_what_breaks_a_promise() -> None:
    def check(value: int) -> None:
        assert value < 1000

    target = Target[int](read=len, check=check, values=st.integers(0, 100_000))
    with pytest.raises(AssertionError):
        by_examples(target, 2000, seed=1)


def test_every_target_is_fuzzed_by_exactly_one_test() -> None:
    files = Path(__file__).parent.glob("test_fuzz_*.py")
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    lists = re.findall(r"^TARGETS = \((.*)\)$", text, re.MULTILINE)
    assert sorted(re.findall(r'"(\w+)"', " ".join(lists))) == names()
