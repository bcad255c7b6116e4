"""A soak: everybody works, leaves, and the empty server is looked at; again and again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from tests.soak.gauge import Gauge, Sample
from tests.soak.pairs import Pair
from tests.soak.people import People
from tests.soak.soak_team import SoakTeam, prepared

_EMPTY_WITHIN = 20.0
_LOOKS = 10
Watch = Callable[["Soak"], None]


@dataclass(frozen=True)
class Plan:
    """How long, with whom, and in how many stretches; the first one is the warm-up."""

    seconds: float
    pairs: int = 10
    people: int = 4
    stretches: int = 6
    pause: float = 0.2


@dataclass
class Stretch:
    """From everybody's coming to everybody's leaving."""

    began: float
    ended: float
    idle: Sample
    rounds: int
    turns: int


@dataclass
class Soak:
    """What is known so far."""

    plan: Plan
    place: SoakTeam
    people: People
    gauge: Gauge
    empty: Sample
    stretches: list[Stretch] = field(default_factory=list[Stretch])
    server_log: str = ""

    @property
    def events(self) -> int:
        """How many events were received, each checked against the one before."""
        return sum(one.events for one in (*self.people.talkers, *self.people.watchers))


async def soaked(root: Path, plan: Plan, watch: Watch = lambda _: None) -> Soak:
    """Run a soak and return what was seen."""
    place = await prepared(root, plan.pairs, plan.people, plan.pause)
    with place.install.up() as server:
        place.running = server
        gauge = Gauge(server.process.pid, root / ".aipm-data")
        soak = Soak(plan, place, People(place), gauge, gauge.look())
        await soak.people.begin()
        for _ in range(plan.stretches):
            await _stretch(soak, watch)
    soak.server_log = server.log
    return soak


async def _stretch(soak: Soak, watch: Watch) -> None:
    began = anyio.current_time()
    place = soak.place
    place.ends_at = began + soak.plan.seconds / soak.plan.stretches
    async with anyio.create_task_group() as looking:
        looking.start_soon(_keep_looking, soak, watch)
        looking.start_soon(soak.people.serve)
        async with anyio.create_task_group() as working:
            for talker in soak.people.talkers:
                working.start_soon(soak.people.talk, talker)
            for number in range(soak.plan.pairs):
                working.start_soon(Pair(place, number).work)
        await soak.people.hear_out()
        looking.cancel_scope.cancel()
    ended, idle = anyio.current_time(), await _left_alone(soak)
    turns = sum(talker.turns for talker in soak.people.talkers)
    soak.stretches.append(Stretch(began, ended, idle, place.tally.cycles, turns))
    watch(soak)


async def _keep_looking(soak: Soak, watch: Watch) -> None:
    while True:
        soak.gauge.look()
        watch(soak)
        await anyio.sleep(1)


async def _left_alone(soak: Soak) -> Sample:
    """Look when the server has noticed that everybody is gone.

    Several times: what upkeep opens for a moment is closed again, what leaks stays open.
    """
    samples: list[Sample] = []
    with anyio.move_on_after(_EMPTY_WITHIN):
        while len(samples) < _LOOKS:
            sample = soak.gauge.look()
            if sample.sockets <= soak.empty.sockets:
                samples.append(sample)
            await anyio.sleep(0.1)
    return min(samples or [soak.gauge.look()], key=lambda sample: sample.descriptors)
