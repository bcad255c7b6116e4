"""Writes docs/authorisation.md from the tables that the abuse suite holds.

``python tools/authorisation_page.py`` writes it, ``--check`` says whether it is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "authorisation.md"
sys.path.insert(0, str(ROOT))

from tests.abuse.authorisation_table import page  # noqa: E402


def main(arguments: list[str]) -> int:
    """Write the page, or say whether it is stale."""
    wanted = page()
    if "--check" in arguments:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == wanted:
            return 0
        sys.stderr.write("docs/authorisation.md is stale; `make docs` writes it anew\n")
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
