"""MCP over stdio: from the start of the process to its `initialize` reply, and calls after it."""

import compileall
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from aipm_core.testkit import Install
from benchmarks.mcp_peers.client import HELLO
from benchmarks.mcp_peers.processes import HERE

RUNS = 7
CALLS = 1000


def run() -> None:
    """Start both in turns, so that a busy machine is busy for both."""
    for part in ("aipm_core", "plugins"):  # as the SDK is: pip compiles what it installs
        compileall.compile_dir(part, quiet=1)
    with tempfile.TemporaryDirectory(prefix="aipm-bench-") as place:
        install = Install.make(Path(place))
        install.run("project", "list")
        aipm = [
            str(Path(sys.executable).with_name("aipm")),
            "mcp",
            "--config",
            f"{place}/aipm.toml",
        ]
        sdk = [sys.executable, str(HERE / "lowlevel.py"), "stdio"]
        starts: dict[str, list[float]] = {"aipm mcp": [], "bare SDK": []}
        rates: dict[str, list[float]] = {"aipm mcp": [], "bare SDK": []}
        for _ in range(RUNS):
            for name, command, tool in (("aipm mcp", aipm, "help"), ("bare SDK", sdk, "nothing")):
                start, rate = once(command, tool)
                starts[name].append(start)
                rates[name].append(rate)
    for name, seconds in starts.items():
        print(f"{name}: start {median(seconds):.3f} s, {median(rates[name]):6.0f} calls/s")
    ratio = median(starts["aipm mcp"]) / median(starts["bare SDK"])
    print(f"start: {ratio:.2f} of the SDK's   (≤ 0.6 wanted)")


def once(command: list[str], tool: str) -> tuple[float, float]:
    """Return seconds to the first reply, and calls a second after it."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ask(process, {"method": "initialize", "params": HELLO})
    start = time.perf_counter() - begun
    assert process.stdin
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    begun = time.perf_counter()
    for _ in range(CALLS):
        ask(process, {"method": "tools/call", "params": {"name": tool, "arguments": {}}})
    rate = CALLS / (time.perf_counter() - begun)
    process.stdin.close()
    process.wait()
    process.stdout.close() if process.stdout else None
    return start, rate


def ask(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    """Send one request and wait for its reply."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode() + b"\n")
    process.stdin.flush()
    assert b'"result"' in process.stdout.readline()
