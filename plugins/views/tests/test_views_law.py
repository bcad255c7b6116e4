"""state(t0) + changes = state(t1) = what is stored, whatever happens in between."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.views_world import DEEDS, World, world

from aipm_core import CallError

Deed = tuple[str, int]
DEED = st.tuples(st.sampled_from(sorted(DEEDS)), st.integers(min_value=0, max_value=60))


async def live(deeds: Sequence[Deed]) -> World:
    with tempfile.TemporaryDirectory(prefix="aipm-") as root:
        async with world(Path(root)) as made:
            await made.check()
            for name, number in deeds:
                with suppress(CallError):
                    await DEEDS[name](made, number)
            await made.check()
            return made


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(deeds=st.lists(DEED, min_size=3, max_size=25))
def test_the_law_holds_in_every_world(deeds: list[Deed]) -> None:
    asyncio.run(live(deeds))


@pytest.mark.parametrize("deed", sorted(DEEDS))
def test_the_law_holds_for_each_deed(deed: str) -> None:
    """Each deed twice, with something to act on, so that none is only tried by luck."""
    before: list[Deed] = [("add_task", 1), ("move", 2), ("write", 0), ("write", 3), ("say", 0)]
    before += [("request", 1), ("ask", 1), ("notify", 0), ("look", 0), ("look", 1)]
    many = [(deed, number) for number in (0, 1, 2, 3, 7, 12)]
    made = asyncio.run(live([*before, *many]))
    assert all(follower.resyncs == 0 for follower in made.followers)


@pytest.mark.parametrize("seed", range(2))
def test_the_law_holds_while_the_world_goes_on(seed: int) -> None:
    """Waiting calls are woken by an interrupt and write while copies are held against states."""

    async def busy() -> None:
        with tempfile.TemporaryDirectory(prefix="aipm-") as root:
            async with world(Path(root)) as made:
                await made.check()
                for number in range(seed, seed + 12):
                    await made.ask(1)
                    await made.notify(1)
                    others = asyncio.create_task(made.add_task(number))
                    await made.check()
                    await others
                    await made.agent_reads(3)

    asyncio.run(busy())
