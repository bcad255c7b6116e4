"""Runs coroutines of a target, millions of them, on one loop."""

import asyncio
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return uvloop.new_event_loop()


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns."""
    return _loop().run_until_complete(work)
