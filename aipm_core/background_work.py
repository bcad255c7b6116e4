"""Work that goes on beside everything else until a block is left.

A task group would do the same, but wraps every error of the block into an ``ExceptionGroup``; a
start that fails should fail with its one sentence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from aipm_core.errors import StartupError, StoreUnavailable

logger = logging.getLogger(__name__)
Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
_SHORTEST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0


owner: ContextVar[str] = ContextVar("owner", default="")
"""The plugin whose lifespan or transport runs here; what it starts inherits it."""


@asynccontextmanager
async def background(**works: Work) -> AsyncGenerator[None]:
    """Run the named functions while the block runs.

    One that fails is logged under its name and started again: a disk that was full for an hour
    must not leave a server without its upkeep until somebody restarts it.
    """
    named = [(f"background work {name}", work) for name, work in works.items()]
    tasks = [asyncio.create_task(kept_going(name, work)) for name, work in named]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def kept_going(name: str, work: Work, until: Callable[[], bool] = lambda: False) -> None:
    """Run a function again and again until it returns, or is not wanted any more."""
    pause = _SHORTEST_PAUSE
    whose = f"plugin {owner.get()}: " if owner.get() else ""
    about = {"plugin": owner.get()} if owner.get() else None
    while True:
        try:
            await work()
        except StartupError:
            raise
        except StoreUnavailable as error:
            words = "%s%s failed (%s); next try in %.0f s"
            logger.warning(words, whose, name, error, pause, extra=about)
        except (Exception, SystemExit, KeyboardInterrupt):
            words = "%s%s failed; next try in %.0f s"
            logger.exception(words, whose, name, pause, extra=about)
        else:
            return
        if until():
            return
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
