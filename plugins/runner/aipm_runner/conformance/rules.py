"""What an adapter must hold to, asked of it with the fake program; each answer is one sentence."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from aipm_runner.api import RunnerAdapter
from aipm_runner.conformance.trial import EXPECTED, TOKEN, start_of, tried

_MARK = "AIPM_RUN_ID"
_COUNTED = 100
_LONGEST_LINE = 40_000


async def faults(adapter: RunnerAdapter) -> AsyncIterator[str]:
    """Yield what is wrong with an adapter."""
    for fault in launch_faults(adapter):
        yield fault
    if adapter.drive is None or not adapter.protocol:
        return
    for scenario, expected in EXPECTED.items():
        result = await tried(adapter, scenario)
        if result.end != expected:
            yield f"{scenario}: ended as {result.end}, not as {expected}"
        if result.left:
            yield f"{scenario}: left a process behind"
        if any(len(line) > _LONGEST_LINE for line in result.log):
            yield f"{scenario}: put a whole long line into the log"
    async for fault in _guard_faults(adapter):
        yield fault


def launch_faults(adapter: RunnerAdapter) -> list[str]:
    """Return what is wrong with how an adapter starts its program."""
    with tempfile.TemporaryDirectory(prefix="aipm-adapter-") as place:
        try:
            launch = adapter.launch(start_of(adapter, Path(place)))
        except ValueError as error:
            return [] if str(error) else ["launch: refuses without a sentence"]
    found: list[str] = []
    if any(TOKEN in word for word in launch.words):
        found.append("launch: the session token is on the command line")
    if adapter.drive is not None and TOKEN in " ".join(launch.environment.values()):
        found.append("launch: the session token is in the environment, which reaches every shell")
    if adapter.drive is not None and launch.environment.get("HOME") == str(Path.home()):
        found.append("launch: the program has a person's home")
    if launch.environment.get(_MARK) != "run_trial":
        found.append(f"launch: {_MARK} is not in the environment, so nobody finds its processes")
    return found


async def _guard_faults(adapter: RunnerAdapter) -> AsyncIterator[str]:
    allowed = await tried(adapter, "work")
    refused = await tried(adapter, "work", allowed=False)
    unknown = await tried(adapter, "unknown_tool")
    if allowed.asked != ("Bash touch ran",) or not allowed.ran:
        yield f"guard: an allowed call did not run (asked: {allowed.asked})"
    if refused.ran:
        yield "guard: a refused call ran"
    if unknown.ran:
        yield "guard: a tool that nobody knows ran"
    if allowed.tokens != _COUNTED:
        yield f"usage: {allowed.tokens} tokens were counted, not {_COUNTED}"
