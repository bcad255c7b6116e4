"""Writes docs/benchmarks.md and its charts from docs/benchmarks/results.json.

``python tools/benchmarks_page.py`` writes them, ``--check`` says whether they are up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT))

from benchmarks.report.page import pages  # noqa: E402
from benchmarks.results import read  # noqa: E402


def main(arguments: list[str]) -> int:
    """Write the files, or say which are stale."""
    wanted = pages(read(DOCS / "benchmarks" / "results.json"))
    if "--check" not in arguments:
        for name, text in wanted.items():
            (DOCS / name).write_text(text, encoding="utf-8")
        return 0
    stale = [
        name
        for name, text in wanted.items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text
    ]
    if stale:
        sys.stderr.write(f"stale: {', '.join(stale)}; `make docs` writes them anew\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
