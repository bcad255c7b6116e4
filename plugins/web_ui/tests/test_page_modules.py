"""What the page computes, on its own, and against the server's own tables."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from aipm_tasks.transitions import NEXT

HERE = Path(__file__).parent
PAGE = HERE.parent / "aipm_web_ui" / "page"


def test_pure_modules() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node: the page's modules were NOT tested on their own")
    tests = sorted(str(file) for file in (HERE / "page").glob("*.test.mjs"))
    done = subprocess.run(
        [node, "--test", *tests], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_page_knows_the_servers_table_of_moves() -> None:
    text = (PAGE / "js" / "transitions.js").read_text(encoding="utf-8")
    table = re.search(r"MOVES = \{(.*?)\};", text, re.DOTALL)
    assert table is not None
    rows = dict(re.findall(r"(\w+): \[(.*?)\]", table.group(1)))
    found = {status: set(re.findall(r"\w+", moves)) for status, moves in rows.items()}
    assert found == {status: set(moves) for status, moves in NEXT.items()}
