"""Writes every file that is made from the code: ``python -m tools.generated``.

With ``--check`` it only says which are stale. (docs/demo.svg is not among them: it shows one run.)
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.report.page import pages
from benchmarks.results import read
from tests import fault_table
from tests.security import authorisation_table
from tools import (
    hooks_page,
    packages_picture,
    plugin_index,
    public_api,
    reference,
    road_picture,
    use_cases_page,
)

ROOT = Path(__file__).resolve().parent.parent


def wanted() -> dict[str, str]:
    """Return what every file should say."""
    measured = pages(read(ROOT / "docs" / "benchmarks" / "results.json"))
    return {
        "docs/authorisation.md": authorisation_table.page(),
        "docs/faults.md": fault_table.page(),
        "docs/hooks.md": hooks_page.page(),
        "docs/packages.svg": packages_picture.drawn(),
        "docs/plugin-index.md": plugin_index.page(),
        "docs/road.svg": road_picture.draw(road_picture.steps()),
        "docs/use-cases.md": use_cases_page.page(),
        "tests/public_api.txt": public_api.description(),
        **{f"docs/{name}": text for name, text in measured.items()},
        **{f"docs/{name}": write() for name, write in reference.WRITERS.items()},
    }


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    stale = {
        name: text
        for name, text in wanted().items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != text
    }
    if "--check" in arguments:
        for name in stale:
            sys.stderr.write(f"{name} is stale; `make docs` writes it anew\n")
        return 1 if stale else 0
    for name, text in stale.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
