"""``python -m benchmarks.revisions REVISION``: did a change make anything slower?

Another revision is installed beside this tree, in an environment of its own. Rounds alternate, so
that a noisy machine is noisy for both; the ratio of the medians counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.wire.messages import HELLO

ROOT = Path(__file__).resolve().parent.parent
_PIPELINE = (
    "import anyio, sys; sys.path.insert(0, '.'); from benchmarks import core; "
    "anyio.run(core.pipeline)"
)


def installed(revision: str) -> Path:
    """Return a tree of that revision with its environment."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", f"{revision}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        sys.exit(f"there is no revision {revision!r}")
    place = ROOT / "build" / "revisions" / found.stdout.strip()[:12]
    if not (place / ".venv" / ".ready").exists():
        print(f"installing {place.name} …", file=sys.stderr)
        place.mkdir(parents=True, exist_ok=True)
        tree = subprocess.run(
            ["git", "archive", found.stdout.strip()], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "-x"], cwd=place, input=tree.stdout, check=True)
        install(place)
        (place / ".venv" / ".ready").touch()
    return place


def install(place: Path) -> None:
    """Make the environment of a tree, with the same dependencies as this one."""
    python = str(place / ".venv" / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", place / ".venv"], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint"]
    subprocess.run([*pip, str(ROOT / "constraints.txt"), "--editable", str(place)], check=True)
    subprocess.run(
        [python, "-m", "compileall", "-q", "aipm_core", "plugins"], cwd=place, check=True
    )


def help_ms(tree: Path) -> float:
    """Measure ``aipm --help``."""
    start = time.perf_counter()
    command = [str(tree / ".venv" / "bin" / "aipm"), "--help"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def stdio_ms(tree: Path) -> float:
    """Measure from the start of ``aipm mcp`` to its first answer."""
    aipm = tree / ".venv" / "bin" / "aipm"
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([aipm, "init"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        for _ in range(2):  # the first start makes the database
            start = time.perf_counter()
            with subprocess.Popen(
                [aipm, "mcp"], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as process:
                assert process.stdin
                assert process.stdout
                process.stdin.write(
                    json.dumps({"jsonrpc": "2.0", "id": 1, **HELLO}).encode() + b"\n"
                )
                process.stdin.flush()
                process.stdout.readline()
                taken = (time.perf_counter() - start) * 1000
                process.stdin.close()
    return taken


def call_us(tree: Path) -> float:
    """Measure a call with five authorizers and five middleware."""
    python = tree / ".venv" / "bin" / "python"
    done = subprocess.run(
        [python, "-c", _PIPELINE], cwd=tree, check=True, capture_output=True, text=True
    )
    line = next(line for line in done.stdout.splitlines() if "middleware" in line)
    return float(line.split("µs")[0].split()[-1])


MEASURED: dict[str, Callable[[Path], float]] = {
    "aipm --help, ms": help_ms,
    "aipm mcp, start to first answer, ms": stdio_ms,
    "one call, 5 authorizers, 5 middleware, µs": call_us,
}


def main() -> None:
    """Measure both trees in turn and print how they compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.revisions", description=__doc__)
    parser.add_argument("revision", help="what to compare this tree with")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    before = installed(options.revision)
    print(f"{'':44}{'before':>9}{'now':>9}{'ratio':>8}")
    for name, measure in MEASURED.items():
        times = [(measure(before), measure(ROOT)) for _ in range(options.rounds)]
        then, now = (median(side) for side in zip(*times, strict=True))
        print(f"{name:44}{then:9.1f}{now:9.1f}{now / then:8.2f}")


if __name__ == "__main__":
    main()
