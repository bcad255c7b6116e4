"""Settings of this plugin: ``[plugins.runner]``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from aipm_core import PluginConfig


class ProgramSettings(PluginConfig):
    """A program that agents may be: ``[plugins.runner.programs.NAME]``."""

    adapter: str = "command"
    """Which adapter speaks with it."""
    command: tuple[str, ...] = ()
    """The program and its arguments, as they are executed; nothing of a shell works."""
    script: Path | None = None
    """What the adapter ``script`` plays; relative to the settings file."""
    account: str | None = None
    """Whose limits it shares with other programs [default: its own, by its name]."""
    environment: tuple[str, ...] = ()
    """Names of further variables of the server's environment that the program gets."""
    login: bool = False
    """Whether the program may use the login that it has in the home of whoever runs the server."""
    login_files: tuple[str, ...] = ()
    """Further files below that home that belong to the login."""


class RunnerConfig(PluginConfig):
    """Which programs there are, how many run at once, and when one is given up."""

    in_server: bool = True
    """Whether ``aipm up`` starts programs; otherwise only ``aipm runner`` does."""
    programs: dict[str, ProgramSettings] = Field(default_factory=dict)
    """Programs by name. What is executed stands here and nowhere else."""
    environment: tuple[str, ...] = (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
        *("TERM", "TMPDIR"),
    )
    """Variables of the server's environment that every program gets, and no other."""
    setup: tuple[str, ...] = ()
    """A command that prepares a new working copy (dependencies, local settings), run once in it."""
    setup_seconds: float = Field(default=600, gt=0)
    """How long that command may take."""
    first_port: int = Field(default=20000, ge=1024, le=65000)
    """Where the ports begin that runs get for servers of their own, in ``RUN_PORTS``."""
    ports_per_run: int = Field(default=10, ge=1, le=1000)
    """How many ports a run gets."""
    directories: dict[str, Path] = Field(default_factory=dict)
    """Where projects are on this machine, for a runner whose server has them elsewhere."""
    max_runs: int = Field(default=4, ge=1)
    """Programs of one runner at the same time."""
    max_runs_per_agent: int = Field(default=2, ge=1)
    """Programs of one agent at the same time, in all projects and on all machines."""
    max_runs_per_account: int = Field(default=8, ge=1)
    """Programs of one account at the same time, on all machines."""
    run_budget_usd: float | None = Field(default=None, gt=0)
    """What one run may cost; then it is stopped."""
    project_budget_usd: float | None = Field(default=None, gt=0)
    """What all runs of a project may cost on one day (UTC); then they stop until the next."""
    max_attempts: int = Field(default=3, ge=1)
    """Failures in a row after which a person has to say that it is tried again."""
    retry_seconds: float = Field(default=10, gt=0)
    """The pause after a first failure; it doubles with each further one, up to five minutes."""
    linger_seconds: float = Field(default=20, gt=0)
    """How long a program may go on after its session is over; then it is stopped."""
    silent_seconds: float = Field(default=3600, gt=0)
    """A program without output, call and processor time for so long is stopped."""
    tool_seconds: float = Field(default=21600, gt=0)
    """How long a tool of the program's own may be silent; then the program is stopped."""
    start_seconds: float = Field(default=60, gt=0)
    """How long a program that is spoken with may take until it is ready."""
    stop_seconds: float = Field(default=3, gt=0, le=5)
    """How long a program that is told to stop may take; then it is killed with all it started."""
    guard_on_error: Literal["deny", "allow-reads"] = "deny"
    """What a program may still do with its own tools when nobody can judge: nothing, or read."""
    log_bytes: int = Field(default=5_000_000, ge=1000)
    """How much of one run's output is kept."""
    line_bytes: int = Field(default=32_768, ge=100)
    """How much of one line of output is kept."""
    conversation_days: float = Field(default=7, gt=0)
    """How long the conversation of a run that was stopped or cut off can go on."""
    keep_days: float = Field(default=30, gt=0)
    """How long runs and their logs are remembered after their end."""
