"""What is past its time is deleted, and a clock that jumps deletes nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from aipm_devkit.testing import TestRuntime, running
from aipm_operations.api import Retention, old_rows

from aipm_core import Migration, Plugin, PluginContext, Tx, hookimpl, iso
from aipm_core.errors import PluginError

DAY = 86_400.0
TODAY = 1_700_000_000.0
OLD = "delete from leaves where n in (select n from leaves where at < ? limit ?)"


class Tree(Plugin):
    """Keeps leaves for thirty days."""

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        sql = "create table leaves (n integer primary key, at double precision not null)"
        yield Migration(name="0001_leaves", sql=sql)

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        yield Retention(name="leaves", days=30, forget=old_rows(OLD), every=3600)


class Times:
    """A clock people can set, and the machine's own count, which they cannot."""

    def __init__(self) -> None:
        self.clock, self.count = TODAY, 0.0

    def pass_by(self, seconds: float) -> None:
        self.clock += seconds
        self.count += seconds

    @asynccontextmanager
    async def tree(self, data_dir: Path | None = None) -> AsyncGenerator[TestRuntime]:
        async with running(
            Tree, data_dir=data_dir, clock=lambda: self.clock, steady=lambda: self.count
        ) as aipm:
            yield aipm


async def grow(aipm: TestRuntime, *moments: float) -> None:
    async def unit(tx: Tx) -> None:
        for at in moments:
            await tx.run("insert into leaves (at) values (?)", at)

    await aipm.runtime.store.write(unit)


async def leaves(aipm: TestRuntime) -> list[float]:
    return [row["at"] for row in await aipm.runtime.store.all("select at from leaves order by n")]


async def test_the_old_goes_in_batches_and_the_young_stays() -> None:
    times = Times()
    async with times.tree() as aipm:
        await aipm.runtime.store.write(
            lambda tx: tx.run(
                "with recursive few(n) as (select 1 union all select n + 1 from few "
                "where n < 1200) insert into leaves (at) select 1 from few"
            )
        )
        await grow(aipm, times.clock - 31 * DAY, times.clock - 29 * DAY)
        assert await aipm.sweep("events") == 0
        assert await aipm.sweep() == 1201
        assert await leaves(aipm) == [times.clock - 29 * DAY]


async def test_sweeping_goes_on_by_itself(tmp_path: Path) -> None:
    async with Times().tree(tmp_path) as aipm:
        await grow(aipm, 1.0)
        with anyio.fail_after(30):
            while await leaves(aipm):  # noqa: ASYNC110
                await anyio.sleep(0.02)


@pytest.mark.parametrize("years", [10, 50])
async def test_a_clock_that_jumps_forward_deletes_nothing(years: int) -> None:
    times = Times()
    async with times.tree() as aipm:
        await aipm.sweep()
        await grow(aipm, times.clock)
        times.clock += years * 365 * DAY
        assert await aipm.sweep() == 0
        times.pass_by(2 * DAY)
        assert await aipm.sweep() == 0
        times.clock -= years * 365 * DAY
        assert await aipm.sweep() == 0
        times.pass_by(29 * DAY)
        assert await aipm.sweep() == 1


async def test_a_clock_that_was_wrong_before_the_start_deletes_nothing(tmp_path: Path) -> None:
    times = Times()
    async with times.tree(tmp_path) as aipm:
        await aipm.sweep()
        await grow(aipm, times.clock)
    times.clock += 3650 * DAY
    async with times.tree(tmp_path) as aipm:
        assert await aipm.sweep() == 0
        times.clock = TODAY + DAY
        await grow(aipm, TODAY - 31 * DAY)
        assert await aipm.sweep() == 1
        assert await leaves(aipm) == [TODAY]


async def test_a_clock_in_the_past_deletes_nothing_and_is_forgiven(tmp_path: Path) -> None:
    """A machine whose clock starts in 1970 until it has asked the network."""
    times = Times()
    async with times.tree(tmp_path) as aipm:
        await aipm.sweep()
        await grow(aipm, -40 * DAY, TODAY - 31 * DAY)
    times.clock = 1000.0
    async with times.tree(tmp_path) as aipm:
        assert await aipm.sweep() == 0
        times.clock = TODAY + DAY
        assert await aipm.sweep() == 2


async def test_a_new_time_is_believed_once_it_has_run_for_days(tmp_path: Path) -> None:
    """The program was not used for a year; nobody could say whether the clock is right."""
    times = Times()
    async with times.tree(tmp_path) as aipm:
        await aipm.sweep()
        await grow(aipm, times.clock)
    times.pass_by(365 * DAY)
    for gone in (0, 0, 0, 1):
        async with times.tree(tmp_path) as aipm:
            assert await aipm.sweep() == gone
        times.pass_by(DAY)


async def test_a_short_absence_is_nothing_special(tmp_path: Path) -> None:
    times = Times()
    async with times.tree(tmp_path) as aipm:
        await aipm.sweep()
        await grow(aipm, times.clock - 20 * DAY)
    times.pass_by(13 * DAY)
    async with times.tree(tmp_path) as aipm:
        assert await aipm.sweep() == 1


async def test_events_have_a_life_without_any_plugin() -> None:
    times = Times()
    async with times.tree() as aipm:
        await aipm.runtime.store.write(
            lambda tx: tx.run(
                "insert into events (stream, seq, type, payload, created_at) "
                "values ('', 1, 'x', '{}', ?)",
                iso(times.clock - 31 * DAY),
            )
        )
        assert await aipm.sweep() == 1


class Burning(Tree):
    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.asked = 0

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        yield Retention(name="leaves", days=30, forget=self.forget, every=0.01)

    async def forget(self, tx: object, before: float) -> int:
        self.asked += 1
        raise ValueError("fire")


async def test_an_owner_that_fails_is_logged_and_holds_up_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(Burning) as aipm:
        with anyio.fail_after(30):
            while "sweeping leaves failed" not in caplog.text:  # noqa: ASYNC110
                await anyio.sleep(0.02)
        assert await aipm.sweep("events") == 0


class Garbage(Tree):
    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        return ["leaves"]  # type: ignore[list-item]


async def test_garbage_is_refused_at_the_start() -> None:
    with pytest.raises(PluginError, match="aipm_retention gave 'leaves', not a Retention"):
        async with running(Garbage):
            pass
