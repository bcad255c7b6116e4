"""A game of shiritori over real MCP connections, undisturbed and with everything killed once.

Agents are started by a supervisor that asks what ``aipm work`` asks.
"""

import json
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_cli import settings_file
from aipm_cli.program import open_runtime
from aipm_delegation.testing import AgentProcess, KillableServer, Killed, KillPlan
from aipm_devkit.program import Install
from aipm_sessions.api import DIRECTORY, SESSIONS
from aipm_sessions.missing_sessions import Claim, MissingSession, SqlMissingSessions
from aipm_sessions.plugin import ADMINISTRATION, WORK_CLAIMS
from aipm_tasks.api import TASKS

from aipm_core import Request, Tx
from aipm_core.models import Kind
from aipm_core.runtime import Runtime

WORDS = (
    *("りんご", "ごりら", "らっぱ", "ぱんだ", "だるま", "まくら"),
    *("らくだ", "だいこん", "こあら", "らいおん", "おにぎり", "りす"),
)
PURPOSE = "worker-bと6往復しりとりをしてほしい。最初は「りんご」で。"


async def work(me: AgentProcess) -> None:
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
    me.world.notes["told"] = [one["type"] for one in notices]
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


async def talk(me: AgentProcess) -> None:
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


async def read(me: AgentProcess, game: Game) -> None:
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


async def lead(me: AgentProcess, game: Game) -> None:
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


async def follow(me: AgentProcess, game: Game) -> None:
    """Answer every word."""
    if game.conversation is not None and len(game.said) % 2 == 1:
        await speak(me, game, "respond_conversation_message")


async def speak(me: AgentProcess, game: Game, tool: str) -> None:
    word = WORDS[len(game.said)]
    sent = await me.does(tool, conversation_id=game.conversation, content=word)
    game.said[sent["message_id"]] = word


async def report(me: AgentProcess, game: Game) -> None:
    if game.delegation is not None:
        await me.does(
            "report_delegation_completed", delegation_id=game.delegation, result="12語続いた"
        )
        game.over = True


async def watch(me: AgentProcess) -> None:
    """Look at the board when all is over, as the person who gave the task."""
    await me.world.finished.wait()
    tasks = (await me.does("list_tasks"))["tasks"]
    me.world.notes["board"] = [one["status"] for one in tasks]


async def supervise(world: KillableServer, runtime: Runtime) -> None:
    """Start whoever is needed, and report whose process has ended, until the task is done."""
    missing_sessions = runtime.services.use(WORK_CLAIMS)
    async with anyio.create_task_group() as agents:
        agents.start_soon(AgentProcess(world, "pat", "chat", watch).live)
        while not await runtime.store.one("select 1 from tasks where status = 'done'"):
            for wanted in await missing_sessions.wait("p", Claim(supervisor="test", seconds=60), 1):
                agents.start_soon(run_agent, world, missing_sessions, wanted)
        world.finished.set()


async def run_agent(
    world: KillableServer, missing_sessions: SqlMissingSessions, wanted: MissingSession
) -> None:
    play = work if wanted.purpose == "task" else talk
    with suppress(Killed):
        await AgentProcess(world, wanted.agent_id, wanted.purpose, play).live()
    assert wanted.claim_id is not None
    await missing_sessions.claims.end(wanted.claim_id)


@asynccontextmanager
async def world_of(
    root: Path, kill_plans: dict[str, KillPlan]
) -> AsyncGenerator[tuple[KillableServer, Runtime]]:
    """Set up project, agents and task, and start the server; the supervisor has its own runtime."""
    install = Install.make(root)
    async with open_runtime(settings_file.load(root / "aipm.toml")) as runtime:
        world = KillableServer(install, await staff(runtime, root), kill_plans)
        await give_task(runtime)
        try:
            await world.start()
            yield world, runtime
        finally:
            await world.stop()


async def staff(runtime: Runtime, root: Path) -> dict[str, str]:
    """Add the project and its people; return their passkeys."""
    administration = runtime.services.use(ADMINISTRATION)
    await administration.add_project("p", "P", root / "work")
    kinds: dict[str, Kind] = {"pat": "human", "worker-a": "ai", "worker-b": "ai"}
    passkeys = {}
    for name, kind in kinds.items():
        _, passkeys[name] = await administration.add_agent(
            name,
            project_id="p",
            name=name,
            kind=kind,
            role="worker",
            parent="pat" if kind == "ai" else None,
        )
    return passkeys


async def give_task(runtime: Runtime) -> None:
    """Let the person give worker-a the task, and start it."""
    sessions, tasks = runtime.services.use(SESSIONS), runtime.services.use(TASKS)
    pat = await runtime.services.use(DIRECTORY).agent(runtime.store, "pat")
    assert pat is not None
    session, token = await runtime.store.write(lambda tx: sessions.open(tx, pat, "p", "task"))
    task = {"title": PURPOSE, "assignee_id": "worker-a"}
    reply = await runtime.call(Request(tool="create_task", arguments=task, credential=token))
    task_id = reply.result["task"]["id"]

    async def begin(tx: Tx) -> None:
        await tasks.change_status(tx, task_id, "in_progress", actor_id="pat")
        await sessions.close(tx, session.id, "logout")

    await runtime.store.write(begin)


async def final_state(world: KillableServer, runtime: Runtime) -> dict[str, Any]:
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
        "board": world.notes.get("board"),
    }


def chat_file(world: KillableServer, agent: str) -> list[str]:
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
    "board": ["done"],
}


async def test_the_scenario_over_real_connections(tmp_path: Path) -> None:
    async with world_of(tmp_path, {}) as (world, runtime):
        with anyio.fail_after(60):
            await supervise(world, runtime)
        assert await final_state(world, runtime) == EXPECTED
        assert world.notes["told"] == ["delegation_completed"]
        sides = await runtime.store.all("select told_at from conversation_sides")
        assert all(side["told_at"] for side in sides)


async def survives(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    lives = {"server": 45, "worker-a/task": 7, "worker-a/chat": 22, "worker-b/chat": 20}
    kill_plans = {
        name: KillPlan(chance.randint(1, calls), chance.uniform(0, 0.02))
        for name, calls in lives.items()
    }
    async with world_of(root, kill_plans) as (world, runtime):
        with anyio.fail_after(100):
            await supervise(world, runtime)
        assert await final_state(world, runtime) == EXPECTED
        assert all(kill_plan.calls >= kill_plan.call for kill_plan in kill_plans.values())


@pytest.mark.parametrize("seed", range(5))
async def test_everybody_is_killed_once(tmp_path: Path, seed: int) -> None:
    await survives(tmp_path, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 55))
async def test_everybody_is_killed_once_again_and_again(tmp_path: Path, seed: int) -> None:
    await survives(tmp_path, seed)
