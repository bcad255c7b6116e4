"""A stand-in for an agent: plays a file of steps against this server, without a model."""

from __future__ import annotations

import sys
from pathlib import Path

from aipm_runner.adapters.command import variables
from aipm_runner.api import Launch, RunnerAdapter, RunStart

_PLAYER = str(Path(__file__).with_name("script_player.py"))


def launch(start: RunStart) -> Launch:
    """Play the script of the settings; without one, do whatever there is to do."""
    if start.script is not None and not start.script.is_file():
        raise ValueError(f"its script {start.script} is no file")
    return Launch(
        words=(
            sys.executable,
            "-I",
            "-S",
            _PLAYER,
            *([str(start.script.resolve())] if start.script else []),
        ),
        stdin=start.prompt.encode(),
        environment={**start.environment, **variables(start)},
    )


SCRIPT = RunnerAdapter(name="script", launch=launch, bare=True)
