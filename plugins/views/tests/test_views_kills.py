"""The fold law while the server is killed: no copy misses a change, whatever was being written."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count

import anyio
import httpx
import pytest
from aipm_devkit.program import Install, Server
from tests.test_views_over_http import House, Page, furnish, loaded

PEOPLE = ("alice", "bob")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    install = Install.make(tmp_path_factory.mktemp("killed"))
    return House(install, anyio.run(furnish, install.root / ".aipm-data"))


class Life:
    """One life of a server: somebody writes, everybody's copy follows, and then it is killed."""

    def __init__(self, house: House, server: Server, chance: random.Random) -> None:
        self._house = house
        self._server = server
        self._chance = chance
        self.made: list[str] = []

    def until_killed(self, pages: dict[str, Page]) -> None:
        """Kill the server after some acknowledged writes, in the middle of the next ones."""
        with ThreadPoolExecutor(6) as pool:
            followed = [pool.submit(self._follow, page) for page in pages.values()]
            written = [pool.submit(self._write, str(n), self._chance.random()) for n in range(3)]
            enough, delay = self._chance.randint(1, 12), self._chance.random() / 30
            while len(self.made) < enough:
                assert not all(each.done() for each in written), [w.result() for w in written]
                anyio.run(anyio.sleep, 0.001)
            anyio.run(anyio.sleep, delay)  # chance decides what is half done
            self._server.process.kill()
            self._server.process.wait()
            for each in (*followed, *written):
                each.result()

    def _follow(self, page: Page) -> None:
        with suppress(httpx.HTTPError), page.following():
            page.fold_to("9" * 18)  # as long as there is a server

    def _write(self, name: str, seed: float) -> None:
        chance = random.Random(seed)
        with suppress(httpx.HTTPError), self._house.http(self._server, "alice") as http:
            for number in count():
                body = {"project_id": "p", "title": f"{name}.{number}", "assignee_id": "worker"}
                made = _call(http, "create_task", body)
                self.made.append(made)
                for status in chance.sample(("todo", "in_progress", "blocked"), 2):
                    where = {"project_id": "p", "task_id": made, "status": status}
                    http.post("/tools/move_task", json={**where, "reason": "waits for bob"})


def _call(http: httpx.Client, tool: str, body: dict[str, str]) -> str:
    answer = http.post(f"/tools/{tool}", json=body)
    assert answer.status_code == 200, answer.text
    made: str = answer.json()["result"]["task"]["id"]
    return made


def killed_and_followed(house: House, kills: int, seed: int) -> None:
    chance, made = random.Random(seed), list[str]()
    pages = {who: Page(httpx.Client()) for who in PEOPLE}
    for number in range(kills + 1):
        with house.install.up() as server:
            clients = {who: house.http(server, who) for who in PEOPLE}
            for who, page in pages.items():
                page.http = clients[who]
                if number == 0:
                    page.load()
                else:
                    _caught_up(page, made, by_header=bool((number + (who == "bob")) % 2))
            life = Life(house, server, chance)
            life.until_killed(pages)
            made += life.made
        if number == 0:
            made.append(house.add_task("while nobody serves"))


def _caught_up(page: Page, made: list[str], *, by_header: bool) -> None:
    """Go on from the old cursor, in the address or in the header of a browser."""
    now = loaded(page.http)
    with page.following(**({"Last-Event-ID": page.cursor} if by_header else {})):
        page.fold_to(now.cursor)
    assert page.views == now.views
    assert set(made) <= set(page.views["tasks"])


def test_a_copy_survives_kills(house: House) -> None:
    killed_and_followed(house, kills=3, seed=1)


@pytest.mark.long
def test_a_copy_survives_many_kills(house: House) -> None:
    killed_and_followed(house, kills=60, seed=2)
