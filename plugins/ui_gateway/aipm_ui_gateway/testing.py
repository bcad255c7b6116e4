"""For tests: a runtime served on a real port, a team in it, and clients for every transport."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import httpx
from aipm_devkit.testing import TestRuntime, running
from aipm_http_server.api import ServerSettings
from aipm_sessions.api import DIRECTORY, Agent
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from pydantic import BaseModel

from aipm_core import (
    Access,
    AnyTool,
    Call,
    Event,
    Json,
    PluginClass,
    PluginContext,
    Tool,
    Tx,
)
from aipm_ui_gateway.api import UI_SESSIONS, SessionCommand, UiSession
from aipm_ui_gateway.plugin import UiGateway


@dataclass
class Person:
    """A human of the team and their token."""

    agent: Agent
    token: str

    @property
    def headers(self) -> dict[str, str]:
        """What a request of this person carries."""
        return {"Authorization": f"Bearer {self.token}"}


Handler: TypeAlias = Callable[
    [Tx, Agent, UiSession | None, Any], Coroutine[Any, Any, Mapping[str, Json]]
]


def command(
    ctx: PluginContext[Any], name: str, model: type[BaseModel], handler: Handler
) -> AnyTool:
    """Make the tool of a command whose handler gets the transaction, the person, the session."""

    async def run(call: Call, payload: BaseModel) -> Json:
        async def unit(tx: Tx) -> Json:
            person = await ctx.services.use(DIRECTORY).agent(tx, call.caller.agent_id)
            session = None
            if isinstance(payload, SessionCommand):
                sessions = ctx.services.use(UI_SESSIONS)
                session = await sessions.of_person(tx, call.caller.agent_id, payload.sessionId)
            return await handler(tx, cast("Agent", person), session, payload)

        return await call.write(ctx.store, unit)

    return Tool(
        name=name,
        run=run,
        arguments=model,
        access=Access.PERSON,
        audience="ui",
        description="A command.",
    )


class ServedTeam:
    """A running server and its team."""

    def __init__(self, aipm: TestRuntime, url: str) -> None:
        self.runtime = aipm.runtime
        self.url = url
        self.http = httpx.AsyncClient(base_url=url, timeout=10)

    @property
    def ws(self) -> str:
        """The address of the WebSocket."""
        return self.url.replace("http", "ws", 1) + "/ws"

    async def project(self, project_id: str = "p", agent: str = "bot") -> None:
        """Add a project with one agent."""
        administration = self.runtime.services.use(ADMINISTRATION)
        await administration.add_project(project_id, project_id, None)
        await self.agent(agent, project_id)

    async def agent(self, agent_id: str, project_id: str = "p", **more: Any) -> Agent:  # noqa: ANN401
        """Add an agent; ``more`` may say kind, role and parent."""
        administration = self.runtime.services.use(ADMINISTRATION)
        chosen = {"name": agent_id, "kind": "ai", "role": "worker", "parent": None, **more}
        made, _ = await administration.add_agent(agent_id, project_id=project_id, **chosen)
        return made

    async def person(self, name: str, project_id: str = "p", **more: Any) -> Person:  # noqa: ANN401
        """Add a human with a token."""
        made = await self.agent(name, project_id, kind="human", **more)
        token = await self.runtime.services.use(ADMINISTRATION).add_token(name)
        return Person(made, token["token"])

    async def post(self, person: Person, type: str, /, **payload: Json) -> Mapping[str, Json]:  # noqa: A002
        """Give a command over HTTP and return the reply, whatever it is."""
        order = {"id": secrets.token_hex(8), "type": type, "payload": payload}
        reply = await self.http.post("/commands", json=order, headers=person.headers)
        return dict(reply.json())

    async def open(self, person: Person, project_id: str = "p", agent: str = "bot") -> str:
        """Open a session and return its id."""
        ack = await self.post(person, "openSession", projectId=project_id, agentId=agent)
        return str(ack["sessionId"])

    async def publish(self, *events: Event) -> None:
        """Let events happen."""
        for event in events:
            await self.runtime.events.publish(event)

    @asynccontextmanager
    async def stream(
        self, person: Person, session_id: str | None, last_seq: int | None = None
    ) -> AsyncGenerator[EventStream]:
        """Read a session's event stream."""
        query = {"session": session_id, "lastSeq": last_seq}
        params = {name: str(value) for name, value in query.items() if value is not None}
        async with (
            httpx.AsyncClient(base_url=self.url, timeout=10) as client,
            client.stream("GET", "/events", params=params, headers=person.headers) as response,
        ):
            if response.is_error:
                await response.aread()
            response.raise_for_status()
            stream = EventStream(response)
            await stream.ready()
            yield stream


class EventStream:
    """An open stream of server-sent events."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.aiter_lines()
        self.received: list[str] = []
        self.last_event_id = ""

    async def ready(self) -> None:
        """Wait until the server follows the session."""
        async for line in self._lines:
            if line == ": ready":
                return

    async def event(self) -> Mapping[str, Json]:
        """Return the next event; raises ``StopAsyncIteration`` at the end of the stream."""
        while True:
            line = await anext(self._lines)
            self.received.append(line)
            if line.startswith("id: "):
                self.last_event_id = line[4:]
            if line.startswith("data: "):
                return dict(json.loads(line[6:]))


@asynccontextmanager
async def served(
    *plugins: PluginClass,
    data_dir: Path | None = None,
    **settings: Any,  # noqa: ANN401
) -> AsyncGenerator[ServedTeam]:
    """Serve the gateway and the given plugins on a free port; stops as SIGTERM stops it.

    A keyword is one plugin's settings; ``server`` those of the server, ``locale`` and ``clock`` as
    for :func:`aipm_devkit.testing.running`.
    """
    server = ServerSettings.model_validate({"port": 0, **settings.pop("server", {})})
    sections = {"server": server}
    async with (
        running(
            Sessions, UiGateway, *plugins, data_dir=data_dir, sections=sections, **settings
        ) as aipm,
        aipm.serving() as url,
    ):
        stage = ServedTeam(aipm, url)
        yield stage
        await stage.http.aclose()
