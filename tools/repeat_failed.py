"""Repeats the few tests that failed beside others, alone: ``make test-again``.

Real servers, browsers and kills share two processors with everything else, and now and then a
machine stands still for longer than somebody was ready to wait. What fails again is wrong, and so
are more than a few. What passes is named: it is an unsteady test, and somebody's work.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RECORD = Path(".pytest_cache/v/cache/lastfailed")
FEW = 8


def main() -> int:
    """Return 0 when there were only a few failures, and each passes alone."""
    failed = sorted(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.is_file() else []
    if not failed or len(failed) > FEW:
        sys.stderr.write(f"{len(failed)} tests failed; 1 to {FEW} would be repeated\n")
        return 1
    again = [sys.executable, "-m", "pytest", "-n", "0", *failed]
    code = subprocess.run(again, check=False).returncode  # noqa: S603 - names from pytest itself
    if code == 0:
        named = "\n    ".join(["*** UNSTEADY: failed beside others, passed alone ***", *failed])
        sys.stderr.write(f"{named}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
