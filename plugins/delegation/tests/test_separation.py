"""Task sessions do not talk; the two sessions of an agent do not meet."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_conversations.plugin import Conversations
from aipm_delegation.plugin import Delegation
from aipm_file_chat.plugin import FileChat
from aipm_notifications.api import INBOX
from aipm_notifications.plugin import Notifications
from aipm_sessions.testing import Caller, Team, team

from aipm_core import Access, AnyTool, Call, Json, NoArguments, Plugin, Trait, Tx, hookimpl, tool

TALK = (FileChat, Notifications, Conversations)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "broadcast_message": {"content": "hi"},
    "end_conversation": {"conversation_id": "conv_x"},
    "get_pending_messages": {},
    "respond_chat": {"content": "hi"},
    "respond_conversation_message": {"conversation_id": "conv_x", "content": "hi"},
    "send_conversation_message": {"conversation_id": "conv_x", "content": "hi"},
    "send_message": {"target_agent_id": "bob", "content": "hi"},
    "start_conversation": {"participant_agent_id": "bob", "initial_message": "hi"},
}


@asynccontextmanager
async def sessions(root: Path, *plugins: Any) -> AsyncGenerator[tuple[Team, Caller, Caller]]:
    async with team(*plugins, root=root) as made:
        await made.add("ann", "bob")
        yield made, await made.session("ann", "task"), await made.session("ann")


@pytest.mark.parametrize("tool", sorted(ARGUMENTS))
async def test_a_task_session_is_sent_to_delegation(tmp_path: Path, tool: str) -> None:
    async with sessions(tmp_path, *TALK, Delegation) as (_, task, _chat):
        refused = await task.refused(tool, **ARGUMENTS[tool])
        assert (refused.code, refused.status) == ("chat_session_required", 403)
        for word in (tool, "purpose=task", "delegate_to_chat_session"):
            assert word in refused.message


async def test_every_talking_tool_is_really_there(tmp_path: Path) -> None:
    async with sessions(tmp_path, *TALK, Delegation) as (made, _task, _chat):
        catalog = made.aipm.runtime.catalog()
        assert {tool.name for tool in catalog if Trait.TALKS in tool.traits} == set(ARGUMENTS)


class Megaphone(Plugin):
    """A tool of somebody else's that talks."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.shout, access=Access.SESSION, traits=(Trait.TALKS,))

    async def shout(self, call: Call, args: NoArguments) -> Json:
        """Shout."""
        return {"said": "hey"}


async def test_the_rule_holds_for_talking_tools_of_others(tmp_path: Path) -> None:
    async with sessions(tmp_path, *TALK, Delegation, Megaphone) as (_, task, chat):
        assert (await task.refused("shout")).code == "chat_session_required"
        assert await chat.does("shout") == {"said": "hey"}


async def test_without_the_plugin_task_sessions_send_messages(tmp_path: Path) -> None:
    async with sessions(tmp_path, *TALK) as (_, task, chat):
        for caller in (task, chat):
            sent = await caller.does("send_message", target_agent_id="bob", content="hi")
            assert sent["success"] is True
        refused = await task.refused("get_pending_messages")
        assert refused.code == "chat_session_required"
        assert "delegate_to_chat_session" not in refused.message


async def test_help_says_so_in_advance(tmp_path: Path) -> None:
    async with sessions(tmp_path, *TALK, Delegation) as (_, task, chat):
        for caller, available in ((task, False), (chat, True)):
            lines = {line["name"]: line for line in (await caller.does("help"))["tools"]}
            for tool in ARGUMENTS:
                assert lines[tool]["available"] is available
        assert "delegate_to_chat_session" in lines
        lines = {line["name"]: line for line in (await task.does("help"))["tools"]}
        assert "delegate_to_chat_session" in lines["start_conversation"]["reason"]


@pytest.mark.parametrize("rest", [(), (FileChat,), (Notifications,), (FileChat, Conversations)])
async def test_delegation_runs_with_whatever_else_is_on(
    tmp_path: Path, rest: tuple[Any, ...]
) -> None:
    async with sessions(tmp_path, Delegation, *rest) as (made, task, chat):
        wish = {"target_agent_id": "bob", "purpose": "hello"}
        delegation = (await task.does("delegate_to_chat_session", **wish))["delegation_id"]
        offered = await chat.next_action()
        assert offered is not None
        assert offered["delegation_id"] == delegation
        await chat.does("report_delegation_completed", delegation_id=delegation)
        assert (await task.does("get_task_conversations", wait_seconds=1))["finished"] is True
        assert len(await made.rows("chat_delegations")) == 1


async def test_notifications_of_one_purpose_stay_with_it(tmp_path: Path) -> None:
    async with sessions(tmp_path, *TALK, Delegation) as (made, task, chat):
        inbox = made.services.use(INBOX)

        async def leave(tx: Tx) -> None:
            who = {"agent_id": "ann", "project_id": "p"}
            await inbox.put(tx, **who, type="message", message="for chat", audience="chat")
            await inbox.put(
                tx, **who, type="interrupt", action="cancel", message="for task", audience="task"
            )

        await made.store.write(leave)
        assert (await chat.call("get_pending_messages")).replaced is None
        assert (await task.call("get_task_conversations")).replaced is not None
        for caller, text in ((chat, "for chat"), (task, "for task")):
            found = (await caller.does("get_notifications"))["notifications"]
            assert [one["message"] for one in found] == [text]
            assert (await caller.does("get_notifications"))["notifications"] == []


async def test_calls_of_both_sessions_in_flight_at_once(tmp_path: Path) -> None:
    async with sessions(tmp_path, *TALK, Delegation) as (made, task, chat):
        bob = await made.session("bob")
        wish = {"target_agent_id": "bob", "purpose": "hello"}
        delegation = (await task.does("delegate_to_chat_session", **wish))["delegation_id"]
        await chat.does("get_pending_messages")
        outcome: dict[str, Any] = {}

        async def wait() -> None:
            outcome.update(await task.does("get_task_conversations", wait_seconds=55))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as flying:
                flying.start_soon(wait)
                for number in range(20):
                    await chat.does("send_message", target_agent_id="bob", content=str(number))
                assert not outcome
                await chat.does("report_delegation_completed", delegation_id=delegation)
        assert outcome["finished"] is True
        read = await bob.does("get_pending_messages", limit=100)
        assert [message["content"] for message in read["pending_messages"]] == [
            str(number) for number in range(20)
        ]
