"""The command that prepares a new working copy, run once in it before any program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT  # started without a shell  # nosec B404

from aipm_processes.api import launched

_LAST_LINE = 300  # characters


class SetupFailed(Exception):
    """The command did not end well; the text says how, with its last line."""


async def set_up(words: Sequence[str], place: Path, run_id: str, seconds: float) -> None:
    """Run a command in a working copy; raises ``SetupFailed``. It carries the mark of its run."""
    kept = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "SHELL")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *launched(words),
        cwd=place,
        env={**environment, "AIPM_RUN_ID": run_id},
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        raise SetupFailed(f"{words[0]}: no end within {seconds:g} seconds") from None
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if process.returncode:
        lines = output.decode(errors="replace").strip().splitlines()
        last = lines[-1][:_LAST_LINE] if lines else ""
        raise SetupFailed(f"{words[0]} ended with {process.returncode}: {last}".rstrip(": "))
