"""For end-to-end tests: a server and agents on real MCP connections, each killed at a set moment.

An agent that is killed loses its connection and its memory; one whose server died logs in anew.
Neither knows what became of its last call: it goes by what its next session is told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
from aipm_devkit.program import Install, Server
from anyio import to_thread
from mcp import Client

from aipm_core import Json, Purpose


class Killed(Exception):
    """The agent's process is gone."""


class ServerLost(Exception):
    """The server went away during a call: nobody knows what became of it."""


class KillableServer:
    """A server that can be killed, and what everybody shares."""

    def __init__(
        self, install: Install, passkeys: dict[str, str], kill_plans: dict[str, KillPlan]
    ) -> None:
        self.install = install
        self.passkeys = passkeys
        self.kill_plans = kill_plans
        self.up = anyio.Event()
        self.finished = anyio.Event()
        self.port = 0
        self.server: Server | None = None
        self.notes: dict[str, Json] = {}
        self._servers = AsyncExitStack()

    async def start(self) -> None:
        """Start the server, after the first time on the same port."""
        running = self.install.up(*(("--port", str(self.port)) if self.port else ()))
        self.server = await to_thread.run_sync(running.__enter__)
        self._servers.push_async_callback(to_thread.run_sync, running.__exit__, None, None, None)
        self.port = int(self.server.url.rsplit(":", 1)[1])
        self.up.set()

    async def restart(self) -> None:
        """Kill the server without a warning and start it again."""
        assert self.server is not None  # noqa: S101 - started before
        self.up = anyio.Event()
        self.server.process.kill()
        await to_thread.run_sync(self.server.process.wait)
        await self.start()

    async def stop(self) -> None:
        """Stop the server that runs, and gather the ones that were killed."""
        await self._servers.aclose()


class KillPlan:
    """When one process is killed: at its n-th call, that many seconds after it was sent."""

    def __init__(self, call: int, delay: float) -> None:
        self.call = call
        self.delay = delay
        self.calls = 0

    def kills(self) -> bool:
        """Count a call; say whether it is the one."""
        self.calls += 1
        return self.calls == self.call


class AgentProcess:
    """One agent process: a connection, a token, and what it knows of the game."""

    def __init__(
        self,
        world: KillableServer,
        agent_id: str,
        purpose: Purpose,
        play: Callable[[AgentProcess], Awaitable[None]],
    ) -> None:
        self.world = world
        self.name = f"{agent_id}/{purpose}"
        self.agent_id = agent_id
        self.purpose = purpose
        self._play = play
        self.server: Server | None = None
        self.token: str | None = None

    async def live(self) -> None:
        """Play until there is nothing left to do; after a lost server, log in anew."""
        outcome: Exception | None = ServerLost()
        while isinstance(outcome, ServerLost):
            await self.world.up.wait()
            self.server = self.world.server
            outcome = await self._life()
        if outcome is not None:
            raise outcome

    async def _life(self) -> Exception | None:
        """Live on one connection; say how it ended."""
        outcome: Exception | None = ServerLost()
        try:
            async with Client(f"http://127.0.0.1:{self.world.port}/mcp") as self.client:
                try:
                    await self._log_in()
                    await self._play(self)
                    outcome = None
                except (Killed, ServerLost, AssertionError) as error:
                    outcome = error
        except Exception:
            if isinstance(outcome, ServerLost) and not self._lost_server():
                raise
        return outcome

    def _lost_server(self) -> bool:
        return self.world.server is not self.server or not self.world.up.is_set()

    async def _log_in(self) -> None:
        """Open a session, then end the one before: what it had on hand comes to the new one."""
        old = self.token
        reply = await self.call(
            "authenticate",
            agent_id=self.agent_id,
            passkey=self.world.passkeys[self.agent_id],
            project_id="p",
            purpose=self.purpose,
        )
        self.token = reply["result"]["session_token"]
        if old is not None:
            await self.call("logout", session_token=old)

    async def does(self, tool: str, **arguments: Json) -> dict[str, Any]:
        """Call a tool that must succeed."""
        reply = await self.call(tool, session_token=self.token, **arguments)
        assert "error" not in reply, (tool, reply)  # noqa: S101 - a check for tests
        result: dict[str, Any] = reply["result"]
        return result

    async def call(self, tool: str, **arguments: Json) -> dict[str, Any]:
        """Call a tool, and meet what fate has in store for this process or the server."""
        for victim in ("server", self.name):
            kill_plan = self.world.kill_plans.get(victim)
            if kill_plan is not None and kill_plan.kills():
                await self._struck(victim, kill_plan, tool, arguments)
        return await self._send(tool, arguments)

    async def _struck(
        self, victim: str, kill_plan: KillPlan, tool: str, arguments: dict[str, Any]
    ) -> None:
        with anyio.move_on_after(kill_plan.delay):
            await self._send(tool, arguments)
        if victim != "server":
            raise Killed
        with anyio.CancelScope(shield=True):
            await self.world.restart()
        raise ServerLost

    async def _send(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            with anyio.fail_after(70):
                result = await self.client.call_tool(tool, arguments)
        except Exception as error:
            if not self._lost_server():
                raise
            raise ServerLost from error
        assert result.structured_content is not None, result  # noqa: S101 - a check for tests
        return dict(result.structured_content)
