"""Tags a release from the changelog: ``python tools/release.py 0.2.0 [--dry-run]``.

The section of the changelog is the tag's message. Nothing is tagged unless the version of
``pyproject.toml``, the changelog and the tree agree.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def notes(changelog: str, version: str) -> str:
    """Return the changelog's section about a version; empty if there is none."""
    section = re.search(
        rf"^## {re.escape(version)}(?: .*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return section[1].strip() if section else ""


def problem(root: Path, version: str) -> str | None:
    """Return in one sentence why a version cannot be tagged; ``None`` if it can."""
    if not _VERSION.fullmatch(version):
        return f"{version!r} is no version like 1.2.3"
    named = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if named["version"] != version:
        return f"pyproject.toml says {named['version']}, not {version}"
    if not notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version):
        return f"CHANGELOG.md has no section '## {version}' with words in it"
    if _git(root, "status", "--porcelain"):
        return "the tree has changes that are not committed"
    if _git(root, "tag", "--list", f"v{version}"):
        return f"v{version} is tagged already"
    return None


def main(arguments: Sequence[str]) -> int:
    """Check, and tag unless it is a dry run."""
    dry, words = "--dry-run" in arguments, [word for word in arguments if word != "--dry-run"]
    if len(words) != 1:
        sys.stderr.write("usage: python tools/release.py VERSION [--dry-run]\n")
        return 2
    (version,) = words
    if (found := problem(ROOT, version)) is not None:
        sys.stderr.write(f"{found}\n")
        return 1
    text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not dry:
        message = f"aipm {version}\n\n{text}"
        _git(ROOT, "tag", "--annotate", "--cleanup=verbatim", f"v{version}", "--message", message)
    sys.stdout.write(f"v{version}\n\n{text}\n")
    return 0


def _git(root: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(  # noqa: S603
        command, cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
