"""Work that goes on beside everything else until a block is left.

A task group would do the same, but wraps every error of the block into an ``ExceptionGroup``; a
start that fails should fail with its one sentence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from aipm_core.errors import StoreUnavailable

logger = logging.getLogger(__name__)
Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
_SHORTEST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0


@asynccontextmanager
async def background(**works: Work) -> AsyncGenerator[None]:
    """Run the named functions while the block runs.

    One that fails is logged under its name and started again: a disk that was full for an hour
    must not leave a server without its upkeep until somebody restarts it.
    """
    tasks = [asyncio.create_task(_kept_going(name, work)) for name, work in works.items()]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _kept_going(name: str, work: Work) -> None:
    pause = _SHORTEST_PAUSE
    while True:
        try:
            await work()
        except StoreUnavailable as error:
            logger.warning("background work %s failed (%s); next try in %.0f s", name, error, pause)
        except Exception:
            logger.exception("background work %s failed; next try in %.0f s", name, pause)
        else:
            return
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
