"""A third-party plugin that raises, hangs, floods and answers 100 MB: the others go on."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aipm_devkit.program import Install, Server

from tests.agents import Agent, log_in, team
from tests.fault_table import ROWS
from tests.sent_messages import SentMessages

FAULTY_PLUGIN = Path(__file__).with_name("faulty_plugin")
SETTINGS = "[log]\nformat = 'json'\n[plugins.faulty]\n[plugins.file_chat]\nsync_seconds = 0.1\n"


@dataclass
class Room:
    """A server with the faulty plugin, and ann who works in the same room."""

    server: Server
    ann: Agent
    sent_messages: SentMessages


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    root = tmp_path_factory.mktemp("faulty")
    install = Install.make(root, SETTINGS)
    install.environ["PYTHONPATH"] = str(FAULTY_PLUGIN)
    passkeys = team(install, "ann", "bob")
    with install.up() as server:
        made = Room(server, log_in(server.mcp, "ann", passkeys["ann"]), SentMessages(root))
        yield made
    records = [json.loads(line) for line in server.log.splitlines()]
    assert {record["plugin"] for record in records} == {"faulty"}
    slow = {"aipm_operations.watchdog"}  # 100 MB may take a while to count
    assert {r["level"] for r in records if r["logger"] not in slow} == {"error"}


@pytest.mark.parametrize(
    ("row", "tool"),
    [
        ("plugin-raises", "faulty_raise"),
        ("plugin-hangs", "faulty_hang"),
        ("plugin-floods", "faulty_flood"),
        ("plugin-huge", "faulty_huge"),
    ],
)
def test_others_go_on(
    room: Room, record_property: Callable[[str, object], None], row: str, tool: str
) -> None:
    record_property("fault", row)
    envelopes: list[dict[str, object]] = []
    calls = [
        threading.Thread(target=lambda: envelopes.append(Agent(room.server.mcp).call(tool)))
        for _ in range(2)
    ]
    for call in calls:
        call.start()
    assert {room.sent_messages.say(room.ann) for _ in range(20)} == {"ok"}
    for call in calls:
        call.join(60)
    seen = {_outcome(envelope) for envelope in envelopes}
    assert seen == ROWS[row].seen
    assert len(str(envelopes)) < 2000
    assert room.sent_messages.say(room.ann) == "ok"
    room.sent_messages.check()


def _outcome(envelope: dict[str, object]) -> str:
    error = envelope.get("error")
    return str(error["code"]) if isinstance(error, dict) else "ok"
