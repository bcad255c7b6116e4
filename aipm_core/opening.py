"""A runtime for the length of one command, without a command line: this module imports nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from aipm_core.runtime import Runtime

T = TypeVar("T")


def with_runtime(config: Path | None, work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Open the store and the plugins of the settings, and run ``work`` with them."""
    import anyio

    from aipm_core import config as settings_file
    from aipm_core import logs
    from aipm_core.runtime import open_runtime

    settings = settings_file.load(config)
    logs.to_stderr(settings.log.level, settings.log.format)

    async def run() -> T:
        async with open_runtime(settings) as runtime:
            return await work(runtime)

    return anyio.run(run)
