"""Write every page, or say which are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.reference import commands, errors, events, settings, staircase, tools

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"
WRITERS = {
    "tools.md": tools.write,
    "errors.md": errors.write,
    "settings.md": settings.write,
    "events.md": events.write,
    "commands.md": commands.write,
    "../architecture.md": staircase.write,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them."""
    stale: list[str] = []
    for name, write in WRITERS.items():
        file, wanted = PAGES / name, write()
        if "--check" not in arguments:
            file.parent.mkdir(exist_ok=True)
            file.write_text(wanted, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != wanted:
            stale.append(f"docs/reference/{name}")
    if stale:
        sys.stderr.write(f"stale: {', '.join(stale)}; `make docs` writes them anew\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
