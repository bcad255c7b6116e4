"""Third-party distributions for tests: written as files, found as installed ones are."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import dedent

from aipm_devkit.program import Install

HEAD = """\
from __future__ import annotations
import asyncio, sys, time
from contextlib import asynccontextmanager
from aipm_core import *
from aipm_core import hookimpl
"""


def write_distribution(
    site: Path,
    name: str,
    source: str = "",
    *,
    plugins: Mapping[str, str] | None = None,
    commands: Mapping[str, str] | None = None,
    requires: Iterable[str] = (),
    groups: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """Write ``aipm-NAME`` with one module ``aipm_NAME``; return the module's file."""
    info = site / f"aipm_{name}-1.0.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: aipm-{name}", "Version: 1.0"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    every = {"aipm": plugins or {}, "aipm.commands": commands or {}, **(groups or {})}
    text = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
        for group, points in every.items()
    )
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    module = site / f"aipm_{name}.py"
    module.write_text(HEAD + dedent(source), encoding="utf-8")
    return module


def on_path(install: Install, *sites: Path) -> Install:
    """Let the program find what lies in these directories."""
    install.environ["PYTHONPATH"] = os.pathsep.join(map(str, sites))
    return install
