"""The server of a soak, its team, and what its people and agents count together."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
from aipm_devkit.program import Install, Server
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.plugin import UiGateway

PROJECTS = 2
KEPT_EVENTS = 1_000
SETTINGS = f"""
[[plugins.policy.rules]]
tool = "file:*"
decision = "REQUIRE_USER_CONFIRMATION"
[[plugins.policy.rules]]
tool = "broadcast_message"
decision = "REQUIRE_USER_CONFIRMATION"
[plugins.ui_gateway]
keep_events_per_session = {KEPT_EVENTS}
sweep_seconds = 10
"""


class Unexpected(Exception):
    """A reply the script did not ask for."""


@dataclass
class Tally:
    """What happened so far."""

    calls: int = 0
    cycles: int = 0
    provoked: Counter[str] = field(default_factory=Counter[str])
    complaints: list[str] = field(default_factory=list[str])

    async def watch(self, who: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do a piece of work; whatever goes wrong is a complaint, and the soak goes on."""
        try:
            await work()
        except* Exception as errors:  # noqa: BLE001 - the report says it all
            self.complaints += [f"{who}: {error!r}"[:500] for error in _leaves(errors)]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


@dataclass
class SoakTeam:
    """A directory with a team, and the server while it runs."""

    install: Install
    passkeys: dict[str, str]
    tokens: dict[str, str]
    pause: float
    tally: Tally = field(default_factory=Tally)
    ends_at: float = 0.0
    running: Server | None = None

    @property
    def server(self) -> Server:
        """The running server."""
        assert self.running is not None
        return self.running

    @property
    def over(self) -> bool:
        """Whether everybody should finish what they do and leave."""
        return anyio.current_time() >= self.ends_at

    async def rest(self) -> None:
        """Think, as a model does between two calls."""
        await anyio.sleep(self.pause)

    async def command(self, *arguments: str) -> Any:
        """Run ``aipm … --json`` in another process."""
        return await anyio.to_thread.run_sync(lambda: self.install.json(*arguments))

    async def say(self, human: str, agent: str, text: str) -> None:
        """Write to an agent as a person does."""
        headers = {"Authorization": f"Bearer {self.tokens[human]}"}
        address = f"/api/projects/{project_of(agent)}/agents/{agent}/chat/messages"
        async with httpx.AsyncClient(base_url=self.server.url, headers=headers) as client:
            answer = await client.post(address, json={"content": text}, timeout=30)
        if answer.status_code != 201:
            raise Unexpected(f"chat of {human}: {answer.status_code} {answer.text}")


def project_of(agent: str) -> str:
    """Return where a worker or a person works: ``worker7a`` in ``p1``."""
    return f"p{int(''.join(filter(str.isdigit, agent))) % PROJECTS}"


async def prepared(root: Path, pairs: int, people: int, pause: float) -> SoakTeam:
    """Set up two projects, their people and pairs of workers below them."""
    install = Install.make(root, SETTINGS)
    made = SoakTeam(install, {}, {}, pause)
    async with running(Sessions, UiGateway, data_dir=root / ".aipm-data") as aipm:
        administration = aipm.runtime.services.use(ADMINISTRATION)

        async def add(agent: str, **about: Any) -> Any:
            return await administration.add_agent(
                agent, project_id=project_of(agent), name=agent, **about
            )

        for number in range(PROJECTS):
            await administration.add_project(f"p{number}", "p", root / f"p{number}")
        for number in range(max(people, PROJECTS)):
            name = f"human{number}"
            await add(name, kind="human", role="manager", parent=None)
            made.tokens[name] = (await administration.add_token(name))["token"]
        for name in (f"worker{number}{side}" for number in range(pairs) for side in "ab"):
            boss = f"human{project_of(name)[1:]}"
            _, made.passkeys[name] = await add(name, kind="ai", role="worker", parent=boss)
        for number in range(PROJECTS):
            await add(f"bot-p{number}", kind="ai", role="worker", parent=None)
    return made
