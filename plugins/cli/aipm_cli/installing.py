"""``aipm plugins install``: a distribution into the environment this program runs in."""

from __future__ import annotations

import subprocess  # pip itself, without a shell  # nosec B404
import sys
import tempfile
from dataclasses import dataclass
from importlib import invalidate_caches
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from aipm_cli import discovery
from aipm_cli.entry_points import DISTRIBUTION
from aipm_core import CallError, StartupError


@dataclass(frozen=True, slots=True)
class Installed:
    """What came with a distribution."""

    requirement: str
    plugins: tuple[str, ...]


def install(requirement: str, *, upgrade: bool = False) -> Installed:
    """Install a distribution, a directory or a wheel; aipm itself stays as it is."""
    if requirement.startswith("-") or not requirement.strip():
        message = f"{requirement!r} names nothing to install: give a name, a directory or a wheel"
        raise CallError(message, code="invalid_name", status=400)
    before = {found.name for found in discovery.installed()}
    with tempfile.TemporaryDirectory(prefix="aipm-") as directory:
        ours = Path(directory, "constraints.txt")
        ours.write_text(f"{DISTRIBUTION}=={version(DISTRIBUTION)}\n", encoding="utf-8")
        more = ["--upgrade"] if upgrade else []
        command = [*_installer(), "--constraint", str(ours), *more, "--", requirement]
        done = subprocess.run(  # noqa: S603  # nosec B603
            command, capture_output=True, text=True, check=False
        )
    if done.returncode:
        said = [line for line in done.stderr.strip().splitlines() if line.strip()]
        why = next((line for line in said if "error" in line.lower()), (said or ["no reason"])[-1])
        raise StartupError(f"{requirement} was not installed: {why.removeprefix('ERROR: ')}")
    invalidate_caches()
    return Installed(requirement, tuple(_new(requirement, before)))


def _installer() -> list[str]:
    """Return what installs here: pip, or uv where an environment was made without pip."""
    if find_spec("pip") is not None:
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
        return [sys.executable, "-m", "pip", "install", *quiet]
    if (uv := which("uv")) is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise StartupError(
        "there is neither pip nor uv in this environment; install the plugin by hand"
    )


def _new(requirement: str, before: set[str]) -> list[str]:
    """Return the plugins that came, or those a distribution of this name has."""
    found = [one for one in discovery.installed() if not one.first_party]
    wanted = requirement.lower().replace("_", "-")
    named = [one.name for one in found if wanted.startswith(one.distribution.lower())]
    return sorted({one.name for one in found if one.name not in before} | set(named))
