"""The scenario of seed 003 over real MCP connections, undisturbed and with everything killed once.

Agents are started by a supervisor that asks ``aipm work``. An agent that is killed loses its
connection and its memory; one whose server died logs in anew. Neither knows what became of its
last call: it goes by what its next session is told.
"""

import json
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_sessions.plugin import REGISTRY, ROSTER
from aipm_sessions.roster import Claim, Roster, Vacancy
from anyio import to_thread
from mcp import Client

from aipm_core import config as settings_file
from aipm_core.models import Kind
from aipm_core.runtime import Runtime, open_runtime
from aipm_core.testkit import Install, Server

WORDS = (
    *("りんご", "ごりら", "らっぱ", "ぱんだ", "だるま", "まくら"),
    *("らくだ", "だいこん", "こあら", "らいおん", "おにぎり", "りす"),
)
PURPOSE = "worker-bと6往復しりとりをしてほしい。最初は「りんご」で。"


class Killed(Exception):
    """This agent's process is gone."""


class ServerLost(Exception):
    """The server went away during a call: nobody knows what became of it."""


class World:
    """A server that can be killed, and what everybody shares."""

    def __init__(
        self, install: Install, passkeys: dict[str, str], fates: "dict[str, Fate]"
    ) -> None:
        self.install = install
        self.passkeys = passkeys
        self.fates = fates
        self.up = anyio.Event()
        self.finished = anyio.Event()
        self.port = 0
        self.server: Server | None = None
        self.told: list[str] = []
        self.seen: list[str] = []
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
        assert self.server is not None
        self.up = anyio.Event()
        self.server.process.kill()
        await to_thread.run_sync(self.server.process.wait)
        await self.start()

    async def stop(self) -> None:
        await self._servers.aclose()


class Fate:
    """When one process is killed: at its n-th call, that many seconds after it was sent."""

    def __init__(self, call: int, delay: float) -> None:
        self.call = call
        self.delay = delay
        self.calls = 0

    def strikes(self) -> bool:
        self.calls += 1
        return self.calls == self.call


class Agent:
    """One agent process: a connection, a token, and what it knows of the game."""

    def __init__(self, world: World, name: str, agent_id: str, purpose: str) -> None:
        self.world = world
        self.name = name
        self.agent_id = agent_id
        self.purpose = purpose
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
                    await PLAYS[self.purpose](self)
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
            purpose="chat" if self.purpose == "watch" else self.purpose,
        )
        self.token = reply["result"]["session_token"]
        if old is not None:
            await self.call("logout", session_token=old)

    async def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        reply = await self.call(tool, session_token=self.token, **arguments)
        assert "error" not in reply, (tool, reply)
        result: dict[str, Any] = reply["result"]
        return result

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and meet what fate has in store for this process or the server."""
        for victim in ("server", self.name):
            fate = self.world.fates.get(victim)
            if fate is not None and fate.strikes():
                await self._struck(victim, fate, tool, arguments)
        return await self._send(tool, arguments)

    async def _struck(self, victim: str, fate: Fate, tool: str, arguments: dict[str, Any]) -> None:
        with anyio.move_on_after(fate.delay):
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
        assert result.structured_content is not None, result
        return dict(result.structured_content)


async def work(me: Agent) -> None:
    """Delegate once, wait for the outcome on the server, check it, report."""
    if (await me.does("get_next_action", timeout_seconds=1))["action"] != "work":
        return  # a session whose login got no answer holds the task; the supervisor ends it
    outcome = await me.does("get_task_conversations")
    if not outcome["delegations"]:
        await me.does("delegate_to_chat_session", target_agent_id="worker-b", purpose=PURPOSE)
        outcome["finished"] = False
    while not outcome["finished"]:
        outcome = await me.does("get_task_conversations", wait_seconds=55)
    notices = (await me.does("get_notifications"))["notifications"]
    me.world.told += [one["type"] for one in notices]
    (conversation,) = outcome["conversations"]
    assert [message["content"] for message in conversation["messages"]] == list(WORDS)
    await me.does("report_completed", result="success", summary="12語続いた")


class Game:
    """What a chat session knows of the conversation."""

    def __init__(self) -> None:
        self.conversation: str | None = None
        self.delegation: str | None = None
        self.said: dict[str, str] = {}
        self.over = False


async def talk(me: Agent) -> None:
    """Do what ``get_next_action`` says until the game is over for this side."""
    game, leads = Game(), me.agent_id == "worker-a"
    while not game.over:
        action = await me.does("get_next_action", timeout_seconds=2)
        match action["action"]:
            case "conversation_request":
                game.conversation = action["conversation_id"]
                game.said |= {one["id"]: one["content"] for one in action.get("messages", ())}
            case "process_delegation" | "get_pending_messages":
                await read(me, game)
            case "conversation_ended":
                game.over = True
            case "wait_for_messages":
                game.over = me.world.finished.is_set()
        await (lead if leads else follow)(me, game)
    await me.does("logout")


async def read(me: Agent, game: Game) -> None:
    """Read what is pending: words of the partner, and perhaps the delegation."""
    pending = await me.does("get_pending_messages")
    for message in pending["pending_messages"]:
        game.conversation = message["conversationId"]
        game.said[message["id"]] = message["content"]
    for delegation in pending["pending_delegations"]:
        game.delegation = delegation["delegation_id"]
        for held in delegation.get("conversations", ()):
            game.conversation = held["conversation_id"]
            game.said |= {one["id"]: one["content"] for one in held["messages"]}
            if held["state"] == "ended":
                await report(me, game)


async def lead(me: Agent, game: Game) -> None:
    """Begin, speak every second word, and end after the twelfth."""
    if game.conversation is None and game.delegation is not None:
        started = await me.does(
            "start_conversation", participant_agent_id="worker-b", initial_message=WORDS[0]
        )
        game.conversation = started["conversation_id"]
        game.said[started["message_id"]] = WORDS[0]
    elif game.conversation is not None and len(game.said) == len(WORDS) and not game.over:
        await me.does("end_conversation", conversation_id=game.conversation)
        await report(me, game)
    elif game.conversation is not None and len(game.said) % 2 == 0 and not game.over:
        await speak(me, game, "send_conversation_message")


async def follow(me: Agent, game: Game) -> None:
    """Answer every word."""
    if game.conversation is not None and len(game.said) % 2 == 1:
        await speak(me, game, "respond_conversation_message")


async def speak(me: Agent, game: Game, tool: str) -> None:
    word = WORDS[len(game.said)]
    sent = await me.does(tool, conversation_id=game.conversation, content=word)
    game.said[sent["message_id"]] = word


async def report(me: Agent, game: Game) -> None:
    if game.delegation is not None:
        await me.does(
            "report_delegation_completed", delegation_id=game.delegation, result="12語続いた"
        )
        game.over = True


async def watch(me: Agent) -> None:
    """Look at the board when all is over, as the person who gave the task."""
    await me.world.finished.wait()
    me.world.seen = [one["status"] for one in (await me.does("list_tasks"))["tasks"]]


PLAYS: dict[str, Callable[[Agent], Awaitable[None]]] = {"task": work, "chat": talk, "watch": watch}


async def supervise(world: World, runtime: Runtime) -> None:
    """Start whoever is needed, and report whose process has ended, until the task is done."""
    roster = runtime.services.use(ROSTER)
    async with anyio.create_task_group() as agents:
        agents.start_soon(Agent(world, "pat", "pat", "watch").live)
        while not await runtime.store.one("select 1 from tasks where status = 'done'"):
            for vacancy in await roster.wait("p", Claim(supervisor="test", seconds=60), 1):
                agents.start_soon(run_agent, world, roster, vacancy)
        world.finished.set()


async def run_agent(world: World, roster: Roster, vacancy: Vacancy) -> None:
    name = f"{vacancy.agent_id}/{vacancy.purpose}"
    with suppress(Killed):
        await Agent(world, name, vacancy.agent_id, vacancy.purpose).live()
    assert vacancy.claim_id is not None
    await roster.claims.end(vacancy.claim_id)


@asynccontextmanager
async def world_of(root: Path, fates: dict[str, Fate]) -> AsyncGenerator[tuple[World, Runtime]]:
    """Set up project, agents and task, and start the server; the supervisor has its own runtime."""
    install = Install.make(root)
    async with open_runtime(settings_file.load(root / "aipm.toml")) as runtime:
        world = World(install, await staff(runtime, root), fates)
        task = ("--title", PURPOSE, "--assignee", "worker-a", "--status", "in_progress")
        await to_thread.run_sync(install.run, "task", "add", "--project", "p", *task)
        try:
            await world.start()
            yield world, runtime
        finally:
            await world.stop()


async def staff(runtime: Runtime, root: Path) -> dict[str, str]:
    """Add the project and its people; return their passkeys."""
    registry = runtime.services.use(REGISTRY)
    await registry.add_project("p", "P", root / "work")
    kinds: dict[str, Kind] = {"worker-a": "ai", "worker-b": "ai", "pat": "human"}
    passkeys = {}
    for name, kind in kinds.items():
        _, passkeys[name] = await registry.add_agent(
            name, project_id="p", name=name, kind=kind, role="worker", parent=None
        )
    return passkeys


async def final_state(world: World, runtime: Runtime) -> dict[str, Any]:
    """Return what must be the same however often somebody was killed on the way."""
    store = runtime.store
    bob = await store.all("select told_at from conversation_sides where agent_id = 'worker-b'")
    task = await store.one("select id from tasks")
    assert task is not None
    return {
        "task": [row["status"] for row in await store.all("select status from tasks")],
        "delegations": [
            (row["status"], row["result"], row["task_id"] == task["id"])
            for row in await store.all("select * from chat_delegations")
        ],
        "conversations": [
            (row["state"], row["ended_by"], row["end_reason"], row["turns"])
            for row in await store.all("select * from conversations where task_id = ?", task["id"])
        ],
        "sides": len(bob),
        "messages": [
            (row["sender_id"], row["content"])
            for row in await store.all("select * from messages order by seq")
        ],
        "files": {agent: chat_file(world, agent) for agent in ("worker-a", "worker-b")},
        "notices": [
            row["type"]
            for row in await store.all("select type from notifications where audience = 'task'")
        ],
        "person": world.seen,
    }


def chat_file(world: World, agent: str) -> list[str]:
    file = world.install.root / "work" / ".ai-pm" / "agents" / agent / "chat.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len({line["conversationId"] for line in lines}) == 1
    return [line["content"] for line in lines]


EXPECTED: dict[str, Any] = {
    "task": ["done"],
    "delegations": [("completed", '"12語続いた"', True)],
    "conversations": [("ended", "worker-a", "end", 12)],
    "sides": 1,
    "messages": [
        ("worker-a" if turn % 2 == 0 else "worker-b", word) for turn, word in enumerate(WORDS)
    ],
    "files": {"worker-a": list(WORDS), "worker-b": list(WORDS)},
    "notices": ["delegation_completed"],
    "person": ["done"],
}


async def test_the_scenario_over_real_connections(tmp_path: Path) -> None:
    async with world_of(tmp_path, {}) as (world, runtime):
        with anyio.fail_after(60):
            await supervise(world, runtime)
        assert await final_state(world, runtime) == EXPECTED
        assert world.told == ["delegation_completed"]
        sides = await runtime.store.all("select told_at from conversation_sides")
        assert all(side["told_at"] for side in sides)


async def survives(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    lives = {"server": 45, "worker-a/task": 7, "worker-a/chat": 22, "worker-b/chat": 20}
    fates = {
        name: Fate(chance.randint(1, calls), chance.uniform(0, 0.02))
        for name, calls in lives.items()
    }
    async with world_of(root, fates) as (world, runtime):
        with anyio.fail_after(100):
            await supervise(world, runtime)
        assert await final_state(world, runtime) == EXPECTED
        assert all(fate.calls >= fate.call for fate in fates.values())


@pytest.mark.parametrize("seed", range(5))
async def test_everybody_is_killed_once(tmp_path: Path, seed: int) -> None:
    await survives(tmp_path, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 55))
async def test_everybody_is_killed_once_again_and_again(tmp_path: Path, seed: int) -> None:
    await survives(tmp_path, seed)
