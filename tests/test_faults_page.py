"""docs/faults.md says what the suite holds: no row without a test."""

import re
from pathlib import Path

from tests.fault_table import ROWS

HERE = Path(__file__).parent


def test_every_row_is_held_by_a_test() -> None:
    text = "".join(suite.read_text(encoding="utf-8") for suite in HERE.glob("test_faults*.py"))
    named = set(re.findall(r'"fault", "([a-z-]+)"|\("([a-z-]+)", (?:Trouble|"faulty)', text))
    assert {first or second for first, second in named} == ROWS.keys()
