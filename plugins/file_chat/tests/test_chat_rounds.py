"""Work that many ask for at once is done once, and what goes wrong in it goes to all who asked."""

import asyncio
from collections.abc import Sequence

import anyio
import pytest
from aipm_file_chat.rounds import Rounds


class Work:
    """Does nothing until it is let go, and fails when it is told to."""

    def __init__(self) -> None:
        self.rounds: list[list[str]] = []
        self.go_on = asyncio.Semaphore(0)

    async def __call__(self, items: Sequence[str]) -> int:
        self.rounds.append(list(items))
        await self.go_on.acquire()
        if "bad" in items:
            raise OSError("the disk is gone")
        return len(items)


async def test_who_comes_during_a_round_takes_part_in_the_next() -> None:
    work = Work()
    rounds, results = Rounds[str, int](work), dict[str, int]()

    async def join(item: str) -> None:
        results[item] = await rounds.join(item)

    async with anyio.create_task_group() as callers:
        callers.start_soon(join, "first")
        await anyio.wait_all_tasks_blocked()
        for item in ("second", "third"):
            callers.start_soon(join, item)
        await anyio.wait_all_tasks_blocked()
        work.go_on.release()
        work.go_on.release()
    assert work.rounds == [["first"], ["second", "third"]]
    assert results == {"first": 1, "second": 2, "third": 2}


async def test_a_failure_goes_to_everybody_in_the_round_and_ends_with_it() -> None:
    work = Work()
    rounds, failed = Rounds[str, int](work), list[str]()

    async def join(item: str) -> None:
        with pytest.raises(OSError, match="the disk is gone"):
            await rounds.join(item)
        failed.append(item)

    async with anyio.create_task_group() as callers:
        for item in ("bad", "good"):
            callers.start_soon(join, item)
        await anyio.wait_all_tasks_blocked()
        work.go_on.release()
    assert sorted(failed) == ["bad", "good"]
    work.go_on.release()
    assert await rounds.join("good") == 1


async def test_a_caller_that_leaves_does_not_take_the_round_away() -> None:
    work = Work()
    rounds = Rounds[str, int](work)
    async with anyio.create_task_group() as callers:
        callers.start_soon(rounds.join, "impatient")
        await anyio.wait_all_tasks_blocked()
        callers.cancel_scope.cancel()
    work.go_on.release()
    await rounds.finish()
    assert work.rounds == [["impatient"]]
    work.go_on.release()
    assert await rounds.join("next") == 1
