"""A small world in which anything may happen that people can see."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from aipm_conversations.plugin import Conversations
from aipm_delegation.plugin import Delegation
from aipm_devkit.testing import running
from aipm_file_chat.plugin import CORRECTIONS, PEOPLES_CHAT, FileChat
from aipm_notifications.plugin import Notifications
from aipm_notifications.sender import SENDER
from aipm_policy.plugin import Policy
from aipm_sessions.api import DECISIONS, DIRECTORY, Agent, members_topic, person_session
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_sessions.testing import Caller, Team
from aipm_tasks.api import TASKS, NewTask, TaskStatus
from aipm_tasks.plugin import Tasks
from aipm_views.api import INBOX_NOTES, VIEWS
from aipm_views.plugin import Views
from aipm_views.testing import Follower, check_fold_law

from aipm_core import CallError, Request, Tx, iso

PLUGINS = (*(Sessions, Tasks, Notifications, FileChat, Conversations, Delegation, Policy, Views),)
STATUSES: tuple[TaskStatus, ...] = (
    "backlog",
    "todo",
    "in_progress",
    "blocked",
    "done",
    "cancelled",
)
REASONS = (None, "waits for alice", "ask Bob Builder", "a malice of nobody", "花子さん待ち")
RULES = {"rules": [{"tool": "list_tasks", "decision": "REQUIRE_USER_CONFIRMATION"}]}
AGENTS = ("worker-1", "worker-2")


async def woken(tx: Tx) -> None:
    """Tell that members were changed behind the program's back."""
    tx.wake(members_topic("p"))


class World:
    """Two projects; everything happens in ``p``, and nobody of ``q`` may notice."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.followers = [Follower(who) for who in ("alice", "bob")]
        self.followers.append(Follower("mallory", "q"))
        self.handed: dict[tuple[str, str], str] = {}
        self._stack = AsyncExitStack()
        self._calls: list[asyncio.Task[Any]] = []
        self._sessions: dict[tuple[str, str], Caller] = {}

    async def begin(self) -> None:
        """Open, and make the people and the agents."""
        await self._open()
        for project in ("p", "q"):
            await self.team.add_project(project)
        await self.team.add(*AGENTS)
        await self.team.add("worker-3", "mallory", project="q")
        await self.team.add("alice", "bob", "hanako", kind="human")
        for name, kind, who in (
            ("Bob Builder", "human", "bob"),
            ("花子", "human", "hanako"),
            ("mallory", "human", "mallory"),
        ):
            await self.team._run(
                "update agents set name = ?, kind = ? where id = ?", name, kind, who
            )

    async def _open(self) -> None:
        context = running(*PLUGINS, data_dir=self.root / "data", policy=RULES)
        self.aipm = await self._stack.enter_async_context(context)
        self.team = Team(self.aipm, self.root)
        self.use = self.aipm.runtime.services.use

    async def end(self) -> None:
        """Close, with whatever waits."""
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        self._calls.clear()
        await self._stack.aclose()

    async def restart(self, _: int) -> None:
        """Stop the program and start it again on the same data."""
        await self.end()
        self._stack = AsyncExitStack()
        await self._open()
        for caller in self._sessions.values():
            caller.team = self.team

    async def session(self, agent_id: str, purpose: Any) -> Caller:
        """Return a session of an agent, opened when it is first needed."""
        key = (agent_id, purpose)
        if key not in self._sessions:
            self._sessions[key] = await self.team.session(agent_id, purpose)
        return self._sessions[key]

    async def add_task(self, n: int) -> None:
        """Make a task, perhaps below another one and waiting for it."""
        tasks = await self._ids("select id from tasks order by seq")
        other = tasks[n % len(tasks)] if tasks and n % 3 == 0 else None
        new = NewTask(
            project_id="p",
            title=f"task {n}",
            actor_id="alice",
            description="**really** <b>now</b>" if n % 2 else "",
            status="todo" if n % 2 else "backlog",
            assignee_id=AGENTS[n % 2] if n % 5 else None,
            dependencies=(other,) if other else (),
        )
        await self.use(TASKS).add(new)

    async def move(self, n: int) -> None:
        """Try a step of a task."""
        for task_id in await self._some("select id from tasks order by seq", n):
            status = STATUSES[n % len(STATUSES)]
            await self.use(TASKS).move(task_id, status, REASONS[n % len(REASONS)])

    async def request(self, n: int) -> None:
        """Ask for a task that somebody has to approve."""
        session = await self.session(AGENTS[n % 2], "task")
        await session.call("request_task", title=f"wish {n}", description="- one\n- two")

    async def answer(self, n: int) -> None:
        """Decide something that waits."""
        pending = await self.use(DECISIONS).pending(self.aipm.runtime.store, "p")
        if pending:
            chosen = pending[n % len(pending)]
            await self.use(DECISIONS).answer(chosen.id, approved=n % 2 == 0, by="alice")

    async def ask(self, n: int) -> None:
        """Let an agent call what needs a yes; it waits while the rest goes on."""
        session = await self.session(AGENTS[n % 2], "task")
        asked = f"nobody-{len(self._calls)}-{n}"
        call = asyncio.create_task(session.call("list_tasks", assignee_id=asked))
        self._calls.append(call)

        async def look() -> bool | None:
            sql = "select 1 from confirmations where args like ?"
            found = await self.team.store.one(sql, f"%{asked}%")
            return call.done() or found is not None or None

        await self.team.store.wait_until(("confirmations",), look, 0.5)

    async def write(self, n: int) -> None:
        """Send a message of an agent, to a person or another agent."""
        session = await self.session(AGENTS[n % 2], "chat")
        to = ("alice", "bob", AGENTS[(n + 1) % 2])[n % 3]
        await session.call("send_message", target_agent_id=to, content=f"psst {n}")

    async def say(self, n: int) -> None:
        """Send a message of a person."""
        who, to = (("alice", AGENTS[n % 2]), ("bob", "alice"))[n % 2]
        await self.use(PEOPLES_CHAT).say(who, "p", to, f"hello {n}")

    async def correct(self, n: int) -> None:
        """Withdraw or edit a message of a person, if nobody was given it yet."""
        sent = await self._ids("select id from messages where sender_id = 'alice' order by seq")
        if sent:
            corrections, message = self.use(CORRECTIONS), sent[n % len(sent)]
            if n % 2:
                await corrections.withdraw("alice", "p", message)
            else:
                await corrections.edit("alice", "p", message, f"rather {n}")

    async def read(self, n: int) -> None:
        """Let a person look into a chat."""
        chat, who = self.use(PEOPLES_CHAT), ("alice", "bob")[n % 2]
        page = await chat.show("p", (*AGENTS, "bob")[n % 3], limit=1 + n % 4)
        await chat._history.read_by(who, page)

    async def agent_reads(self, n: int) -> None:
        """Let an agent read its messages and notifications."""
        session = await self.session(AGENTS[n % 2], "chat" if n % 3 else "task")
        await session.call("get_pending_messages" if n % 3 else "get_notifications")

    async def notify(self, n: int) -> None:
        """Interrupt an agent, or tell it something."""
        await self.use(SENDER).send(
            AGENTS[n % 2],
            "p",
            type="interrupt" if n % 2 else "message",
            action="pause" if n % 2 else None,
            message="stop it",
            audience=None,
        )

    async def converse(self, n: int) -> None:
        """Start a conversation or a delegation."""
        other = AGENTS[(n + 1) % 2]
        if n % 2:
            session = await self.session(AGENTS[0], "chat")
            await session.call(
                "start_conversation", participant_agent_id=AGENTS[1], initial_message="shall we?"
            )
            return
        session = await self.session(AGENTS[n % 2], "task")
        await session.call("delegate_to_chat_session", target_agent_id=other, purpose="ask it")

    async def leave(self, n: int) -> None:
        """End a session."""
        for key in list(self._sessions)[: 1 + n % 2]:
            await self._sessions.pop(key).call("logout")

    async def join(self, n: int) -> None:
        """Add a person or an agent."""
        name = f"new-{n}"
        with suppress(CallError):
            await self.use(ADMINISTRATION).add_agent(
                name,
                project_id="p",
                name=name,
                kind="human" if n % 2 else "ai",
                role="worker",
                parent=None,
            )

    async def rename(self, n: int) -> None:
        """Let a person change the project or a member."""
        caller = person_session(await self.manager())
        where: dict[str, Any] = {"project_id": "p", "name": f"name {n}"}
        who = {"agent_id": AGENTS[n % 2]} if n % 2 else {}
        tool = "edit_agent" if n % 2 else "edit_project"
        request = Request(tool=tool, arguments=where | who, session=caller, audience="ui")
        reply = await self.aipm.runtime.call(request)
        assert reply.error is None, reply.error

    async def manager(self) -> Agent:
        """Return alice, who manages the agents."""
        await self.team._run("update agents set role = 'manager' where id = 'alice'")
        await self.team._run(
            "update agents set parent_id = 'alice' where id in ('worker-1', 'worker-2')"
        )
        await self.team.store.write(woken)
        found = await self.use(DIRECTORY).agent(self.team.store, "alice")
        assert found is not None
        return found

    async def put_off(self, n: int) -> None:
        """Snooze something, or leave it to somebody else."""
        who, other = (("alice", "bob"), ("bob", "alice"))[n % 2]
        items = sorted(await self.waiting_for(who))
        if not items:
            return
        item, notes = items[n % len(items)], self.use(INBOX_NOTES)
        if n % 3 == 0:
            await notes.snooze(who, "p", item, iso(self.aipm.runtime.clock() + 60 + n))
            return
        await notes.hand_over(who, "p", item, other, "please")
        self.handed.pop((item, other), None)
        self.handed[item, who] = other

    async def sweep(self, _: int) -> None:
        """Forget what is past its time."""
        await self.aipm.sweep()

    async def look(self, n: int) -> None:
        """Let one reader catch up and the others fall behind."""
        await check_fold_law(self.aipm, [self.followers[n % len(self.followers)]])

    async def check(self) -> None:
        """Hold everything against everything."""
        await check_fold_law(self.aipm, self.followers)
        for follower in self.followers[:2]:
            who = follower.person_id
            waiting = await follower.at_rest(self.use(VIEWS), partial(self.waiting_for, who))
            assert set(follower.views["inbox"]) == waiting, who
        assert self.followers[2].views["inbox"] == {}
        assert self.followers[2].views["tasks"] == {}

    async def waiting_for(self, who: str) -> set[str]:
        """Say what waits for a person, from the tables and in other words than the product."""
        ids = set(await self._ids("select id from confirmations where status = 'pending'"))
        rows = await self.team.store.all(
            "select id, wording from tasks where approval_status = 'pending_approval'"
        )
        ids |= {row["id"] + (f".{row['wording']}" if row["wording"] > 1 else "") for row in rows}
        unread = "select id from messages where read_at is null and receiver_id = ?"
        ids |= set(await self._ids(f"{unread} and sender_id like 'worker-%'", who))
        ids |= await self._blocks_naming(who)
        return {item for item in ids if (item, who) not in self.handed}

    async def _blocks_naming(self, who: str) -> set[str]:
        words = {"alice": r"\balice\b", "bob": r"\bbob\b|\bBob Builder\b", "hanako": "花子"}[who]
        found: set[str] = set()
        for row in await self.team.store.all("select id from tasks where status = 'blocked'"):
            history = await self.team.store.all(
                "select reason from task_history where task_id = ? and to_status = 'blocked' "
                "order by seq",
                row["id"],
            )
            if re.search(words, history[-1]["reason"] or ""):
                found.add(f"blk_{row['id']}")
        return found

    async def _count(self, sql: str) -> int:
        row = await self.team.store.one(sql)
        return int(row["n"]) if row else 0

    async def _ids(self, sql: str, *params: object) -> list[str]:
        return [row["id"] for row in await self.team.store.all(sql, *params)]

    async def _some(self, sql: str, n: int) -> list[str]:
        found = await self._ids(sql)
        return [found[n % len(found)]] if found else []


DEEDS: dict[str, Callable[[World, int], Awaitable[None]]] = {
    name: getattr(World, name)
    for name in (
        *("add_task", "move", "request", "answer", "ask", "write", "say", "read", "agent_reads"),
        *("correct",),
        *("notify", "converse", "leave", "join", "rename", "put_off", "sweep", "look", "restart"),
    )
}


@asynccontextmanager
async def world(root: Path) -> AsyncGenerator[World]:
    """Let one world live."""
    made = World(root)
    await made.begin()
    try:
        yield made
    finally:
        await made.end()
