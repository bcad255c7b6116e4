"""Two scripted agents over MCP: they talk, take work, are stopped, delegate, converse, ask."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

from mcp import Client

from tests.soak.soak_team import SoakTeam, Unexpected, project_of

_numbers = count(1)
REPLACED = "replaced"


class Voice:
    """One session of one agent over a connection of its own."""

    def __init__(self, place: SoakTeam, name: str, client: Client) -> None:
        self.name = name
        self._place = place
        self._client = client
        self._token = ""

    async def log_in(self, purpose: str) -> None:
        """Open a session."""
        login = {"agent_id": self.name, "passkey": self._place.passkeys[self.name]}
        opened = await self.call(
            "authenticate", **login, project_id=project_of(self.name), purpose=purpose
        )
        self._token = opened["session_token"]

    async def call(self, tool: str, *, provoked: str = "", **arguments: Any) -> Any:
        """Call a tool; an error other than the one provoked, or none then, is unexpected."""
        given = {**arguments, "session_token": self._token} if self._token else arguments
        reply = await self._client.call_tool(tool, given)
        self._place.tally.calls += 1
        content = reply.structured_content
        outcome = REPLACED if content is None else content.get("error", {}).get("code", "")
        if outcome not in provoked.split(","):
            raise Unexpected(f"{self.name} {tool}: {outcome or 'no error'} {content}")
        if outcome:
            self._place.tally.provoked[outcome] += 1
        await self._place.rest()
        return (content or {}).get("result")

    async def expect(self, action: str) -> Any:
        """Wait for the next action, which must be this one."""
        found = await self.call("get_next_action", timeout_seconds=30)
        if found["action"] != action:
            raise Unexpected(f"{self.name} get_next_action: {found} instead of {action}")
        return found


@dataclass
class Cast:
    """The sessions of a pair in one cycle."""

    task: Voice
    chat: Voice
    other: Voice


class Pair:
    """Worker ``a`` with a task and a chat session, worker ``b`` with a chat session."""

    def __init__(self, place: SoakTeam, number: int) -> None:
        self._place = place
        self._number = number
        self._boss = f"human{project_of(f'worker{number}')[1:]}"

    async def work(self) -> None:
        """Go round until it is over; every round logs in and out over new connections."""
        while not self._place.over:
            await self._place.tally.watch(f"pair {self._number}", self.cycle)

    async def cycle(self) -> None:
        """Do everything once."""
        async with AsyncExitStack() as stack:
            names = (f"worker{self._number}{side}" for side in "aab")
            voices = [
                Voice(self._place, name, await stack.enter_async_context(self._client()))
                for name in names
            ]
            for voice, purpose in zip(voices, ("task", "chat", "chat"), strict=True):
                await voice.log_in(purpose)
            cast = Cast(*voices)
            for act in (message, self._marker, self._interrupt, delegation, self._confirmation):
                await act(cast)
            for voice in (cast.chat, cast.other):  # the report ended the task session
                await voice.call("get_notifications")
                await voice.call("logout")
            await cast.task.call("get_my_task", provoked="session_invalid")
        self._place.tally.cycles += 1

    def _client(self) -> Client:
        return Client(self._place.server.mcp)

    async def _marker(self, cast: Cast) -> None:
        title = f"work {next(_numbers)}"
        await self._place.say(self._boss, cast.chat.name, f"@@create-task: {title}")
        await cast.chat.call("get_pending_messages")
        made = await cast.chat.call("request_task", title=title)
        await cast.chat.call("request_task", title=title, provoked="marker_already_used")
        await cast.task.call("update_task_status", task_id=made["task_id"], status="in_progress")
        await cast.task.expect("work")

    async def _interrupt(self, cast: Cast) -> None:
        await self._place.say(self._boss, cast.chat.name, "@@notify-task: look here first")
        await cast.chat.call("get_pending_messages")
        await cast.chat.call("notify_task_session", message="look here first", priority="high")
        await cast.task.call("get_my_task", provoked=REPLACED)
        read = await cast.task.call("get_notifications")
        if "look here first" not in str(read["notifications"]):
            raise Unexpected(f"the interrupt is not in {read}")

    async def _confirmation(self, cast: Cast) -> None:
        if self._number >= 2:  # a person answers in seconds, not at once: two pairs are enough
            return
        await cast.other.call(
            "broadcast_message",
            content="tea is ready",
            target_agent_ids=[cast.chat.name],
            provoked=",confirmation_denied",
        )
        await cast.chat.call("get_pending_messages")


async def message(cast: Cast) -> None:
    """One waits, the other writes; the same key twice is one message."""
    await cast.chat.call("get_pending_messages")
    waiting = asyncio.create_task(cast.chat.expect("get_pending_messages"))
    words = {"target_agent_id": cast.chat.name, "content": "hello"}
    key = f"key-{next(_numbers)}"
    first = await cast.other.call("send_message", **words, idempotency_key=key)
    again = await cast.other.call("send_message", **words, idempotency_key=key)
    await waiting
    read = await cast.chat.call("get_pending_messages")
    ids = [one["id"] for one in read["pending_messages"]]
    if not ids == [first["message_id"]] == [again["message_id"]]:
        raise Unexpected(f"one message, not {ids}, {first}, {again}")
    await cast.chat.call("respond_chat", content="hello yourself")
    await cast.other.call("get_pending_messages")


async def delegation(cast: Cast) -> None:
    """The task session hands talking over; the chat session converses and reports."""
    asked = await cast.task.call(
        "delegate_to_chat_session", target_agent_id=cast.other.name, purpose="count to four"
    )
    taken = (await cast.chat.call("get_pending_messages"))["pending_delegations"]
    if [one["delegation_id"] for one in taken] != [asked["delegation_id"]]:
        raise Unexpected(f"{asked} was delegated, {taken} came")
    opened = await cast.chat.call(
        "start_conversation", participant_agent_id=cast.other.name, initial_message="1"
    )
    talk = {"conversation_id": opened["conversation_id"]}
    await cast.other.expect("conversation_request")
    await cast.other.call("respond_conversation_message", **talk, content="2")
    await cast.chat.call("send_conversation_message", **talk, content="3")
    await cast.other.call("respond_conversation_message", **talk, content="4")
    await cast.chat.call("end_conversation", **talk)
    await cast.other.expect("conversation_ended")
    await cast.chat.call("report_delegation_completed", delegation_id=asked["delegation_id"])
    seen = await cast.task.call("get_task_conversations", wait_seconds=30)
    words = [one["content"] for one in seen["conversations"][0]["messages"]]
    if words != ["1", "2", "3", "4"]:
        raise Unexpected(f"the conversation came back as {words}")
    await cast.task.call("get_notifications")
    await cast.task.call("report_completed", result="success", summary="done")
