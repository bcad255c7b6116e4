"""A deadline for a plugin's function, at no cost while the function does not wait.

``anyio.fail_after`` around every step costs 10 µs a step, this 0.4 µs (``benchmarks/core.py``):
most steps finish without waiting, so the coroutine is started first and only put under a deadline
when it really suspends.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class Overrun(TimeoutError):
    """The deadline has passed; a time-out that the work ran into by itself is another."""


class Escaped(Exception):
    """The work raised what ends programs and tasks, though nobody told it to end."""


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Run ``work``; raise ``Overrun`` if it is still waiting after ``seconds``."""
    try:
        pending = work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    except (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError) as error:
        raise Escaped(repr(error)) from error
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            result = await _resume(work, pending)
    except TimeoutError:
        if not limit.expired():
            raise
    if limit.expired():  # or it did not listen, and went on
        raise Overrun(f"did not finish within {seconds} s")
    return result


@types.coroutine
def _resume(work: Coroutine[Any, Any, T], pending: Any) -> Generator[Any, Any, T]:  # noqa: ANN401
    """Go on awaiting a coroutine that has already yielded ``pending``."""
    told_to_end = False
    try:
        while True:
            try:
                value = yield pending
            except BaseException as error:  # noqa: BLE001 - handed on to the coroutine
                told_to_end = not isinstance(error, Exception)
                pending = work.throw(error)
            else:
                pending = work.send(value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    except (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError) as error:
        if told_to_end:
            raise
        raise Escaped(repr(error)) from error
