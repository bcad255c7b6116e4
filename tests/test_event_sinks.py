"""Event sinks: at least once, in order, from a kept place, across restarts and processes."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import anyio
import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import TestRuntime, running
from aipm_store import sink_feeds

from aipm_core import Event, EventSink, Plugin, hookimpl
from tests.agents import Agent
from tests.distributions import on_path, write_distribution


class Heard(Plugin):
    """Remembers what it was shown, in the class: across runtimes."""

    shown: ClassVar[list[tuple[str, str]]] = []
    failing: ClassVar[set[str]] = set()
    each: ClassVar[bool] = False
    woken: ClassVar[anyio.Event]

    @hookimpl
    def aipm_event_sinks(self) -> Iterable[EventSink]:
        yield EventSink(name="heard", send=self._hear, each_process=self.each)

    async def _hear(self, event: Event) -> None:
        assert event.timestamp
        Heard.woken.set()
        Heard.woken = anyio.Event()
        if event.type in self.failing:
            self.failing.discard(event.type)
            raise OSError("not now")
        self.shown.append((event.id, event.type))


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Heard, "shown", [])
    monkeypatch.setattr(Heard, "failing", set())
    monkeypatch.setattr(Heard, "each", False)
    monkeypatch.setattr(Heard, "woken", anyio.Event(), raising=False)
    monkeypatch.setattr(sink_feeds, "_SHORTEST_PAUSE", 0.01)


@asynccontextmanager
async def hearing(place: Path) -> AsyncGenerator[TestRuntime]:
    async with running(Heard, data_dir=place) as aipm:
        await place_made(aipm)
        yield aipm


async def place_made(aipm: TestRuntime) -> None:
    """Wait until the sink has its place."""
    with anyio.fail_after(20):
        while not Heard.each and not await aipm.runtime.store.all("select * from sink_places"):
            await anyio.lowlevel.checkpoint()


async def say(aipm: TestRuntime, *types: str) -> None:
    for name in types:
        await aipm.runtime.events.publish(Event(type=name, payload={}, system=True))


async def heard(number: int) -> list[str]:
    with anyio.fail_after(20):
        while len(Heard.shown) < number:
            await Heard.woken.wait()
            await anyio.lowlevel.checkpoint()
    return [name for _, name in Heard.shown]


async def test_what_was_written_while_nobody_listened_comes_at_the_next_start(
    tmp_path: Path,
) -> None:
    async with running(data_dir=tmp_path) as aipm:
        await say(aipm, "before its time")
    async with hearing(tmp_path) as aipm:
        await say(aipm, "one")
        assert await heard(1) == ["one"]
    async with running(data_dir=tmp_path) as aipm:  # without the plugin
        await say(aipm, "two", "three")
    async with hearing(tmp_path):
        assert await heard(3) == ["one", "two", "three"]
    ids = [id_ for id_, _ in Heard.shown]
    assert len(set(ids)) == 3
    assert all(id_.startswith("evt_") for id_ in ids)


async def test_what_failed_is_shown_again_and_nothing_overtakes_it(tmp_path: Path) -> None:
    Heard.failing.update({"b"})
    async with hearing(tmp_path) as aipm:
        await say(aipm, "a", "b", "c")
        assert await heard(3) == ["a", "b", "c"]
    assert Heard.failing == set()


async def test_of_several_processes_one_shows_it(tmp_path: Path) -> None:
    async with hearing(tmp_path) as one, hearing(tmp_path) as two:
        for number in range(20):
            await say(one if number % 2 else two, str(number))
        assert await heard(20) == [str(number) for number in range(20)]
        await say(one, "last")
        await heard(21)
    assert len(Heard.shown) == 21


async def test_another_process_takes_over_from_one_that_ended(tmp_path: Path) -> None:
    async with hearing(tmp_path) as staying:
        async with hearing(tmp_path) as leaving:
            await say(leaving, "a")
            await heard(1)
        await say(staying, "b")
        assert await heard(2) == ["a", "b"]


async def test_a_sink_for_each_process_is_shown_it_by_every_one(tmp_path: Path) -> None:
    Heard.each = True
    async with hearing(tmp_path) as one, hearing(tmp_path):
        await anyio.wait_all_tasks_blocked()
        await say(one, "a")
        assert await heard(2) == ["a", "a"]


RECORDER = """
class Recorder(Plugin):
    '''Writes down what it is shown.'''
    @hookimpl
    def aipm_event_sinks(self):
        yield EventSink(name="file", send=self._note)
    async def _note(self, event):
        with (self.ctx.home / "shown").open("a") as file:
            file.write(f"{event.id} {event.type}\\n")
"""


def numbered(shown: Path) -> str:
    """Return the events that were shown, each once, with how many there were."""
    lines = shown.read_text().splitlines() if shown.exists() else []
    return " ".join(f"onSystemMessage {number}" for number, _ in enumerate(dict.fromkeys(lines), 1))


def test_it_is_shown_over_a_kill_and_not_by_commands(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_distribution(site, "recorder", RECORDER, plugins={"recorder": "aipm_recorder:Recorder"})
    install = on_path(Install.make(tmp_path / "home", "[plugins.recorder]\n"), site)
    shown = install.root / "shown"
    with install.up() as server:
        install.run("announce", "one")
        Agent(server.mcp).result("help")
        server.process.kill()
    install.run("announce", "two")
    assert "onSystemMessage 2" not in numbered(shown)
    with install.up() as server:
        install.run("announce", "three")
        while "onSystemMessage 3" not in numbered(shown):
            Agent(server.mcp).result("help")  # the lease of the one that was killed runs out
    lines = dict(line.split(" ", 1) for line in shown.read_text().splitlines())
    assert [int(id_.removeprefix("evt_")) for id_ in lines] == [1, 2, 3]
