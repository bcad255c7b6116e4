"""How often a call goes to the database and back, counted on the wire: it may not grow."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aipm_devkit.program import Install

from tests.agents import log_in, team
from tests.network import Network
from tests.postgres import database, server

# Trips of one call at the most, once its statements are prepared and nobody else is there.
TRIPS = {"get_my_task": 6, "get_next_action": 17, "send_message": 20}
_TRIES = 12


@contextmanager
def carried(address: str) -> Iterator[tuple[Network, str]]:
    """Run a network on a thread of its own."""
    network, found = Network(address), list[str]()
    ready, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        async with network.up() as url:
            found.append(url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    ready.wait()
    try:
        yield network, found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def fewest(network: Network, call: Callable[[], Any]) -> int:
    """Return the trips of a call; upkeep that falls into one of several tries does not count."""
    counts = []
    for _ in range(_TRIES):
        before = network.trips
        call()
        counts.append(network.trips - before)
    return min(counts)


def test_calls_make_no_more_trips_than_stated(tmp_path: Path) -> None:
    with server() as postgres:
        address = asyncio.run(database(postgres.address, tmp_path))
        with carried(address) as (network, url):
            install = Install.make(tmp_path)
            install.environ["AIPM_STORE__URL"] = url
            keys = team(install, "ann", "bob")
            with install.up() as running:
                work = log_in(running.mcp, "ann", keys["ann"], "task")
                chat = log_in(running.mcp, "ann", keys["ann"])
                counted = {
                    "get_my_task": fewest(network, lambda: work.result("get_my_task")),
                    "get_next_action": fewest(
                        network, lambda: work.call("get_next_action", timeout_seconds=0)
                    ),
                    "send_message": fewest(
                        network,
                        lambda: chat.result("send_message", target_agent_id="bob", content="hi"),
                    ),
                }
    assert counted == TRIPS
