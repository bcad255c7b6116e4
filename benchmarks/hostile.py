"""How long others wait while a hostile plugin acts: ``python -m benchmarks.hostile [--quick]``.

Prints the median and the 95th percentile of another agent's calls, alone and beside each row of
``tests/hostile_rows.py``. Rows that hold the event loop are the exceptions the README names;
``--strict`` shows them with the watchdog ending their calls.
"""

import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles

from aipm_devkit.program import Install, Server

from tests.agents import Agent
from tests.distributions import on_path, write_distribution
from tests.hostile_rows import HEAD, SOURCE

ROWS = (
    *("exhausts", "recurses", "garbage", "huge", "commits", "swallows", "floods", "queries"),
    *("spins", "sleeps"),
)


def waits(server: Server, tool: str | None, seconds: float) -> list[float]:
    """Return how long each call of a victim took, in milliseconds, while a tool is called."""
    over = threading.Event()

    def act() -> None:
        agent = Agent(server.mcp)
        while tool is not None and not over.is_set():
            agent.call(tool)

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        victim, took, until = Agent(server.mcp), list[float](), time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.perf_counter()
            victim.result("help")
            took.append((time.perf_counter() - began) * 1000)
        over.set()
        acting.result()
    return took


def main(arguments: list[str]) -> int:
    """Measure and print."""
    seconds = 1.0 if "--quick" in arguments else 10.0
    options = [word for word in arguments if word == "--strict"]
    with tempfile.TemporaryDirectory(prefix="aipm-") as directory:
        root = Path(directory)
        points = {"hostile": "aipm_hostile:Hostile"}
        write_distribution(root / "site", "hostile", HEAD + SOURCE, plugins=points)
        toml = "[plugins.hostile]\n"
        install = on_path(Install.make(root / "home", toml), root / "site")
        with install.up(*options) as server:
            threading.Thread(target=_drain, args=(server,), daemon=True).start()
            waits(server, None, seconds / 2)
            alone = _print("nobody", waits(server, None, seconds), None)
            for tool in ROWS:
                _print(tool, waits(server, tool, seconds), alone)
    return 0


def _drain(server: Server) -> None:
    """Read the log: a server whose log nobody reads stands still when the pipe is full."""
    for _ in server.process.stderr or ():
        pass


def _print(name: str, took: list[float], alone: float | None) -> float:
    p95 = quantiles(took, n=20)[-1]
    times = f"{p95 / alone:6.1f} x" if alone else ""
    sys.stdout.write(f"{name:<10} {len(took):6} calls  median {median(took):7.1f} ms  ")
    sys.stdout.write(f"p95 {p95:7.1f} ms {times}\n")
    return p95


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
