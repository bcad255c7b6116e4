"""The canary sweep: many sessions over every transport, and nobody ever sees another's words."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.plugin import UiGateway

from tests.progress import Progress
from tests.talkers import OverEventStream, OverMcp, OverMcpStdio, OverWebSocket, Participant

CANARY = re.compile(r"canary-[0-9a-f]{32}")
SETTINGS = """
[[plugins.policy.rules]]
tool = "file:*"
decision = "REQUIRE_USER_CONFIRMATION"
"""
AGENTS = 0.05  # of the sessions; each is more than a person's: a client of the official SDK


async def team(install: Install, sessions: int, projects: int) -> list[Participant]:
    """Add people who share projects, and agents with a project each."""
    made: list[Participant] = []
    agents = max(4, round(sessions * AGENTS))
    async with running(Sessions, UiGateway, data_dir=install.root / ".aipm-data") as aipm:
        administration = aipm.runtime.services.use(ADMINISTRATION)
        bot: dict[str, Any] = {"name": "x", "kind": "ai", "role": "worker", "parent": None}
        for number in range(projects):
            await administration.add_project(f"p{number}", "p", install.root / f"p{number}")
            await administration.add_agent(f"bot-p{number}", project_id=f"p{number}", **bot)
        for number in range(sessions - agents):
            name, project = f"human{number}", f"p{number % projects}"
            await administration.add_agent(name, project_id=project, **{**bot, "kind": "human"})
            token = (await administration.add_token(name))["token"]
            way = (OverWebSocket, OverEventStream)[number // projects % 2]
            made.append(way(install, number, project, token))
            place = install.root / project / f"{made[-1].canary}.txt"
            place.write_text(made[-1].canary, encoding="utf-8")
        for number in range(sessions - agents, sessions):
            project = f"m{number}"
            await administration.add_project(project, "m", None)
            _, key = await administration.add_agent(f"agent{number}", project_id=project, **bot)
            made.append((OverMcp, OverMcpStdio)[number % 2](install, number, project, key))
    return made


@pytest.mark.parametrize(
    ("sessions", "projects", "turns"),
    [
        (20, 2, 500),
        pytest.param(200, 10, 5_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_nobody_ever_receives_another_sessions_words(
    tmp_path: Path, sessions: int, projects: int, turns: int
) -> None:
    """A turn is an input and the three to nine events (for an agent: three replies) it leads to."""
    install = Install.make(tmp_path, SETTINGS)
    everybody = await team(install, sessions, projects)
    logs, each = [], turns // sessions
    with Progress("turns", turns) as progress:
        for part in (each // 2, each - each // 2):  # the server restarts in the middle
            with install.up() as server:
                async with anyio.create_task_group() as tasks:
                    for participant in everybody:
                        participant.done = progress.step
                        tasks.start_soon(participant.take_part, server, part)
            logs.append(server.log)
    for participant in everybody:
        assert participant.turns == each
        found = set(CANARY.findall("".join(participant.received)))
        assert found == {participant.canary}
    assert sum(participant.events for participant in everybody) > 3 * turns
    assert CANARY.findall("".join(logs)) == []
