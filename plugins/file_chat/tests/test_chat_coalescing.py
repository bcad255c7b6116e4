"""Work that many ask for at once is done once, and what goes wrong in it goes to all who asked."""

import asyncio
from collections.abc import Sequence

import anyio
import pytest
from aipm_file_chat.coalescing import Coalesced


class Work:
    """Does nothing until it is let go, and fails when it is told to."""

    def __init__(self) -> None:
        self.coalesced: list[list[str]] = []
        self.go_on = asyncio.Semaphore(0)

    async def __call__(self, items: Sequence[str]) -> int:
        self.coalesced.append(list(items))
        await self.go_on.acquire()
        if "bad" in items:
            raise OSError("the disk is gone")
        return len(items)


async def test_who_comes_during_a_round_takes_part_in_the_next() -> None:
    work = Work()
    coalesced, results = Coalesced[str, int](work), dict[str, int]()

    async def join(item: str) -> None:
        results[item] = await coalesced.join(item)

    async with anyio.create_task_group() as callers:
        callers.start_soon(join, "first")
        await anyio.wait_all_tasks_blocked()
        for item in ("second", "third"):
            callers.start_soon(join, item)
        await anyio.wait_all_tasks_blocked()
        work.go_on.release()
        work.go_on.release()
    assert work.coalesced == [["first"], ["second", "third"]]
    assert results == {"first": 1, "second": 2, "third": 2}


async def test_a_failure_goes_to_everybody_in_the_round_and_ends_with_it() -> None:
    work = Work()
    coalesced, failed = Coalesced[str, int](work), list[str]()

    async def join(item: str) -> None:
        with pytest.raises(OSError, match="the disk is gone"):
            await coalesced.join(item)
        failed.append(item)

    async with anyio.create_task_group() as callers:
        for item in ("bad", "good"):
            callers.start_soon(join, item)
        await anyio.wait_all_tasks_blocked()
        work.go_on.release()
    assert sorted(failed) == ["bad", "good"]
    work.go_on.release()
    assert await coalesced.join("good") == 1


async def test_a_caller_that_leaves_does_not_take_the_round_away() -> None:
    work = Work()
    coalesced = Coalesced[str, int](work)
    async with anyio.create_task_group() as callers:
        callers.start_soon(coalesced.join, "impatient")
        await anyio.wait_all_tasks_blocked()
        callers.cancel_scope.cancel()
    work.go_on.release()
    await coalesced.finish()
    assert work.coalesced == [["impatient"]]
    work.go_on.release()
    assert await coalesced.join("next") == 1
