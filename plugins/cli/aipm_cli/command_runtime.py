"""Settings, log and runtime for the length of one command: this module imports nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from aipm_cli.settings import Settings
    from aipm_core import ServeMode
    from aipm_core.host import Runtime

T = TypeVar("T")


def load_settings(config: Path | None, verbose: int = 0) -> Settings:
    """Read the settings file and send the log to stderr as it says, or more of it."""
    from aipm_cli import logs, settings_file
    from aipm_cli.log_settings import LogSettings
    from aipm_cli.target import check_local

    check_local()
    settings = settings_file.load(config)
    log = settings.section(LogSettings)
    level = log.level if not verbose else "info" if verbose == 1 else "debug"
    logs.to_stderr(level, log.format)
    return settings


def with_runtime(
    config: Path | None,
    work: Callable[[Runtime], Awaitable[T]],
    mode: ServeMode | None = None,
) -> T:
    """Open the store and the plugins of the settings, and run ``work`` with them."""
    import anyio

    from aipm_cli.program import open_runtime

    settings = load_settings(config)

    async def run() -> T:
        feeding = mode is not None  # a short command would be cut in the middle of it
        async with open_runtime(settings, mode=mode, feeding=feeding) as runtime:
            return await work(runtime)

    return anyio.run(run)
