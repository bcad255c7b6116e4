"""No regular expression of the project can be made to hold up the server.

``re`` keeps the interpreter while it works, so one message could freeze everything. The promise is
a cost that grows with the text alone: no hostile megabyte takes more than twenty times as long as a
plain scan of it (about 10 ms). An expression that backtracks takes thousands of scans.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST_SCANS = 20
PROBE = Path(__file__).with_name("regex_probe.py")


@pytest.mark.timeout(300)
def test_no_expression_takes_more_than_twenty_scans_of_a_megabyte(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, PROBE, tmp_path], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert any("タスク作成" in pattern for pattern in report), "the probe has lost the markers"
    assert any("a-z0-9_-" in pattern for pattern in report), "the probe has lost the names"
    slow = {pattern: took for pattern, took in report.items() if took[0] > MOST_SCANS}
    assert not slow
