"""People on the event stream: they talk, watch, answer questions and give commands."""

import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import count

import anyio
import httpx

from aipm_core import Json
from tests.soak.soak_team import SoakTeam, Unexpected, project_of
from tests.talkers import OverEventStream, OverWebSocket, Talker

_CATCHING_UP = 30.0


class Watcher(OverEventStream):
    """A second reader of a talker's session, who only listens, and hears every announcement."""

    news: int | None = None
    _told = anyio.Event()

    async def has_seen(self, number: int) -> None:
        """Wait until an event, and with it every one before, has come in."""
        while self.seen < number:
            await self._told.wait()

    async def watch(self, place: SoakTeam) -> None:
        """Listen until cancelled, over one connection."""
        self.news = None  # those made while nobody listened are not told again
        async with self.online(place.server):
            while True:
                self.counted(await self.next())

    def counted(self, frame: Mapping[str, Json]) -> Mapping[str, Json]:
        """Check the session's own numbers, and those of the announcements."""
        if frame["scope"] == "system":
            assert self.news in (None, frame["seq"] - 1), (self.news, frame)
            self.news = frame["seq"]
            self.events += 1
        super().counted(frame)
        self._told.set()
        self._told = anyio.Event()
        return frame


class People:
    """Everybody who is not an agent."""

    def __init__(self, place: SoakTeam) -> None:
        self._place = place
        self._announced = count(1)
        self.talkers: list[Talker] = []
        self.watchers: list[Watcher] = []
        for number, (human, token) in enumerate(place.tokens.items()):
            way = (OverWebSocket, OverEventStream)[number // 2 % 2]
            given = (place.install, number, project_of(human), token)
            self.talkers.append(way(*given))
            self.watchers.append(Watcher(*given))
            self._forgetful(self.talkers[-1], self.watchers[-1])

    def _forgetful(self, talker: Talker, watcher: Watcher) -> None:
        """Keep numbers, not words: half an hour of words would fill this process."""
        talker.received, watcher.received = deque(maxlen=1), deque(maxlen=1)
        file = self._place.install.root / talker.project / f"{talker.canary}.txt"
        file.write_text(talker.canary, encoding="utf-8")

    async def serve(self) -> None:
        """Watch, answer and announce until cancelled."""
        tally = self._place.tally
        async with anyio.create_task_group() as tasks:
            for watcher in self.watchers:
                tasks.start_soon(tally.watch, "watcher", partial(watcher.watch, self._place))
            tasks.start_soon(self._again_and_again, self._answer_all, 1)
            tasks.start_soon(self._again_and_again, self._announce, 7)

    async def talk(self, talker: Talker) -> None:
        """Give input until it is over; the connection breaks every few turns."""
        while not self._place.over:
            turns = partial(talker.take_part, self._place.server, 4)
            await self._place.tally.watch("talker", turns)
            await self._place.rest()

    async def begin(self) -> None:
        """Open the sessions that a talker and a watcher read."""
        for talker, watcher in zip(self.talkers, self.watchers, strict=True):
            if not talker.session:
                async with talker.online(self._place.server):
                    watcher.session = talker.session

    async def hear_out(self) -> None:
        """Wait for the watchers: nothing a talker heard may be missing there."""

        async def wait() -> None:
            with anyio.fail_after(_CATCHING_UP):
                for talker, watcher in zip(self.talkers, self.watchers, strict=True):
                    await watcher.has_seen(talker.seen)

        await self._place.tally.watch("watchers", wait)

    async def _answer_all(self) -> None:
        """Answer for the agents; talkers answer their own questions."""
        asked = await self._place.command("inbox")
        for number, one in enumerate(one for one in asked if "broadcast" in one["summary"]):
            if number % 2:
                await self._place.command("approve", one["id"])
            else:
                await self._decide(one["id"])

    async def _decide(self, confirmation: str) -> None:
        payload = {"confirmationId": confirmation, "approved": secrets.randbelow(2) == 1}
        order = {"id": secrets.token_hex(8), "type": "provideConfirmation", "payload": payload}
        for token in self._place.tokens.values():  # one of them is in the project
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx.AsyncClient(base_url=self._place.server.url, headers=headers) as http:
                answer = (await http.post("/commands", json=order, timeout=30)).json()
            if answer["type"] == "ack":
                return
            if answer["code"] != "confirmation_not_found":
                raise Unexpected(f"provideConfirmation: {answer}")

    async def _announce(self) -> None:
        await self._place.command("announce", f"news {next(self._announced)}")

    async def _again_and_again(self, work: Callable[[], Awaitable[None]], pause: float) -> None:
        while True:
            await self._place.tally.watch(work.__name__, work)
            await anyio.sleep(pause)
