"""Fuzzing of calls: arguments of every tool, commands and cursors of user interfaces."""

from pathlib import Path

import pytest

from tests.fuzz.suite import fuzz, fuzz_long

TARGETS = ("arguments", "commands", "cursors")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TARGETS)
def test_100_000_inputs(name: str, tmp_path: Path) -> None:
    fuzz(name, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("name", TARGETS)
def test_10_000_000_inputs(name: str, tmp_path: Path) -> None:
    fuzz_long(name, tmp_path)
