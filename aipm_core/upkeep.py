"""Work that goes on beside everything else until a block is left.

A task group would do the same, but wraps every error of the block into an ``ExceptionGroup``; a
start that fails should fail with its one sentence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

logger = logging.getLogger(__name__)


@asynccontextmanager
async def background(**works: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Run the named coroutines while the block runs; a crash is logged under its name."""
    tasks = [asyncio.create_task(_guarded(name, work)) for name, work in works.items()]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for work in works.values():
            work.close()  # one that was cancelled before its first step was never awaited


async def _guarded(name: str, work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:
        logger.exception("background work %s ended", name)
