"""Puts the pages of docs/ into build/pages, ready for ``zensical build``.

In the repository a page may link to a source file; the site holds only pages, so there such a link
becomes the path of the file.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
PAGES = REPOSITORY / "build" / "pages"
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def prepare(target: Path) -> None:
    """Copy every page and picture."""
    shutil.rmtree(target, ignore_errors=True)
    for file in sorted(DOCS.rglob("*")):
        place = target / file.relative_to(DOCS)
        if file.suffix == ".md":
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_for_site(file), encoding="utf-8")
        elif file.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)


def _for_site(page: Path) -> str:
    def linked(match: re.Match[str]) -> str:
        text, path, _ = match.groups()
        target = (page.parent / path).resolve()
        if re.match(r"https?:", path) or target.is_relative_to(DOCS):
            return match[0]
        return f"{text} (`{target.relative_to(REPOSITORY).as_posix()}`)"

    return _LINK.sub(linked, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    prepare(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGES)
