"""The staircase in docs/architecture.md: the one block of that page which is made from code."""

from __future__ import annotations

import re
import tomllib

from tools.reference.refusals import REPOSITORY


def write() -> str:
    """Return the page with the layers that import-linter holds."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = "".join(f"{layer}\n" for layer in layers)
    return re.sub(r"```text\ncli\n.*?```", f"```text\n{block}```", page, flags=re.DOTALL)
