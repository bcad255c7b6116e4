"""A year of use on a moved clock: what has a stated life stops growing, the memory is whole."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_agent_loop.plugin import AgentLoop
from aipm_agent_loop.testing import script
from aipm_conversations.plugin import Conversations
from aipm_delegation.plugin import Delegation
from aipm_devkit.testing import TestRuntime
from aipm_file_chat.plugin import FileChat
from aipm_markers.plugin import Markers
from aipm_notifications.plugin import Notifications
from aipm_notifications.sender import SENDER
from aipm_operations.api import SWEEPER
from aipm_policy.plugin import Policy
from aipm_runner.plugin import Runner
from aipm_sessions.api import DIRECTORY, Agent
from aipm_sessions.plugin import ADMINISTRATION
from aipm_sessions.testing import Team
from aipm_tasks.plugin import Tasks
from aipm_ui_gateway.testing import Person, ServedTeam, served
from aipm_views.plugin import Views
from aipm_webhook.plugin import Webhook

from tests.test_retention_page import names, rows

DAY = 86_400.0
STEP = 3  # days between two working days
PLUGINS = (
    FileChat,
    Notifications,
    Conversations,
    Delegation,
    Tasks,
    Markers,
    Policy,
    AgentLoop,
    Runner,
    Views,
    Webhook,
)
ASK: dict[str, Any] = {
    "rules": [{"tool": "file:list", "decision": "REQUIRE_USER_CONFIRMATION"}],
    "audit_days": 90,
}


class Firm:
    """A team at work, one day at a time."""

    def __init__(self, stage: ServedTeam, team: Team) -> None:
        self.stage = stage
        self.team = team
        self.day = 0
        self.made: Counter[str] = Counter()

    async def found(self) -> None:
        await self.team.add_project("p")
        await self.team.add("ann", "bob", "bot")
        await self.stage.agent("hana", kind="human", role="manager")

    async def work(self) -> None:
        """Do a little of everything."""
        self.day += 1
        await self._talk()
        await self._delegate()
        await self._notify()
        await self._use_a_user_interface()

    async def _talk(self) -> None:
        ann, bob = await self.team.session("ann"), await self.team.session("bob")
        await ann.does("send_message", target_agent_id="bob", content=f"day {self.day}")
        await bob.does("get_pending_messages")
        await bob.does("get_notifications")
        self.made["messages"] += 1
        for caller in (ann, bob):
            await caller.does("logout")

    async def _delegate(self) -> None:
        task = await self.team.session("ann", "task")
        await task.does("create_task", title="t", idempotency_key=f"k{self.day}")
        self.made["tasks"] += 1
        given = await task.does(
            "delegate_to_chat_session", target_agent_id="bob", purpose="say hello"
        )
        chat = await self.team.session("ann")
        await chat.does("get_pending_messages")
        done = {"delegation_id": given["delegation_id"], "result": "done"}
        await chat.does("report_delegation_completed", **done)
        for caller in (task, chat):
            await caller.does("logout")

    async def _notify(self) -> None:
        """Leave two notices: one is read the next time, one is for nobody."""
        sender = self.stage.runtime.services.use(SENDER)
        for agent in ("bob", "bot"):
            await sender.send(
                *(agent, "p"), type="message", action=None, message="look", audience="chat"
            )

    async def _use_a_user_interface(self) -> None:
        """Open a session, say something, agree to a tool call, and never come back."""
        made = await self.stage.runtime.services.use(ADMINISTRATION).add_token("hana")
        hana = Person(await self._person(), made["token"])
        session = await self.stage.open(hana)
        await self._command(hana, "submitUserInput", sessionId=session, text="hello")
        asked = await self._until("select id from confirmations where status = 'pending'")
        answer = {"confirmationId": asked["id"], "approved": True, "scope": "session"}
        await self._command(hana, "provideConfirmation", **answer)
        over = f"select 1 from agent_runs where status <> 'running' and session_id = '{session}'"
        await self._until(over)

    async def _person(self) -> Agent:
        directory = self.stage.runtime.services.use(DIRECTORY)
        hana = await directory.agent(self.stage.runtime.store, "hana")
        assert hana is not None
        return hana

    async def _command(self, person: Person, kind: str, **payload: Any) -> None:
        ack = await self.stage.post(person, kind, **payload)
        assert ack["type"] == "ack", ack

    async def _until(self, sql: str) -> Any:
        store = self.stage.runtime.store
        found = await store.wait_until(("events", "confirmations"), lambda: store.one(sql), 30)
        assert found is not None, sql
        return found

    async def counts(self, tables: list[str]) -> dict[str, int]:
        """Count the rows of tables once the last message is safe in its files."""
        store = self.stage.runtime.store

        with anyio.fail_after(30):
            while await store.one("select 1 from chat_outbox"):  # noqa: ASYNC110
                await anyio.sleep(0.05)
        found = {name: await store.all(f"select count(*) as n from {name}") for name in tables}
        return {name: row[0]["n"] for name, row in found.items()}


async def work_for(firm: Firm, days: int, move: Callable[[], Awaitable[None]]) -> None:
    for _ in range(days // STEP):
        await firm.work()
        await firm.stage.runtime.services.use(SWEEPER).sweep()
        await move()


@pytest.mark.timeout(600)
async def test_after_half_a_year_nothing_grows_but_the_memory(tmp_path: Path) -> None:
    passed = 0.0

    async def move() -> None:
        nonlocal passed
        passed += STEP * DAY

    loop = script(tmp_path, [{"tool": "file:list", "args": {"path": "."}}, {"text": "done"}])
    stated = [name for row in rows() if len(row) > 2 for name in names(row[0])]
    memory = ["messages", "tasks"]
    settings: dict[str, Any] = {"policy": ASK, "agent_loop": loop}
    settings["clock"] = lambda: time.time() + passed
    async with served(*PLUGINS, data_dir=tmp_path / "data", **settings) as stage:
        firm = Firm(stage, Team(TestRuntime(stage.runtime), tmp_path))
        await firm.found()
        await work_for(firm, 180, move)
        half = await firm.counts(stated)
        assert {name for name, count in half.items() if count} >= {
            *("events", "event_streams", "sessions", "ui_tokens", "notifications", "policy_audit"),
            *("confirmations", "policy_grants", "chat_delegations", "task_keys", "ui_sessions"),
            *("person_calls", "agent_inputs", "agent_threads", "agent_messages", "agent_calls"),
        }
        await work_for(firm, 180, move)
        later = await firm.counts(stated)
        # The trail is swept in rounds of its own, so it may be some steps of 19 entries behind.
        assert abs(later.pop("policy_audit") - half.pop("policy_audit")) <= 5 * 19
        assert max(later.pop("chat_deliveries"), half.pop("chat_deliveries")) <= 100
        assert later == half
        assert await firm.counts(memory) == {name: firm.made[name] for name in memory}
        assert firm.made == {"messages": 120, "tasks": 120}
