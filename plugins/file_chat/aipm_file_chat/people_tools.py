"""What people do with chat: say, broadcast, read, search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Annotated

from aipm_sessions.api import is_operator
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, tool
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.corrections import Corrections
from aipm_file_chat.history import History
from aipm_file_chat.people import PeoplesChat
from aipm_file_chat.sending import BroadcastMessage, Key, Sending

Id = str  # one that is too long is nobody's, which is said as for any other
MOST_MESSAGES = 200
Limit = Annotated[int, Field(ge=1, le=MOST_MESSAGES)]


class Say(Arguments):
    """Arguments of ``say``. Length and task are checked by the tool, which has its own errors."""

    project_id: Id
    agent_id: Id
    content: str
    related_task_id: str | None = None
    idempotency_key: Key | None = None


class Broadcast(BroadcastMessage):
    """Arguments of ``broadcast``."""

    project_id: Id


class ReadMessages(Arguments):
    """Arguments of ``read_messages``."""

    project_id: Id
    agent_id: Id
    after: int = Field(default=0, ge=0)
    limit: Limit = 50


class SearchMessages(Arguments):
    """Arguments of ``search_messages``."""

    project_id: Id
    agent_id: Id
    text: str = Field(max_length=1000, pattern=r"\S")
    limit: Limit = 50


class WithdrawMessage(Arguments):
    """Arguments of ``withdraw_message``."""

    project_id: Id
    message_id: Id


class EditMessage(WithdrawMessage):
    """Arguments of ``edit_message``."""

    content: str


class PeoplesTools:
    """Everything is in the person's own name, and about one agent's chat in one project."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        chat: PeoplesChat,
        sending: Sending,
        history: History,
        corrections: Corrections,
    ) -> None:
        self._ctx = ctx
        self._chat = chat
        self._sending = sending
        self._history = history
        self._corrections = corrections

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        yield tool(self.say, access=Access.PERSON, audience="ui")
        yield tool(self.broadcast, access=Access.PERSON, audience="ui")
        yield tool(self.edit_message, access=Access.PERSON, audience="ui")
        yield tool(self.withdraw_message, access=Access.PERSON, audience="ui", destructive=True)
        yield tool(self.read_messages, access=Access.PERSON, audience="ui", idempotent=True)
        yield tool(self.search_messages, access=Access.PERSON, audience="ui", read_only=True)

    async def say(self, call: Call, args: Say) -> Json:
        """Send a message to somebody of the project."""
        await self._chat.check_member(args.project_id, args.agent_id)
        return await self._chat.say(
            call.caller.agent_id,
            args.project_id,
            args.agent_id,
            args.content,
            related_task_id=args.related_task_id,
            idempotency_key=args.idempotency_key,
            write=partial(call.write, self._ctx.store),
        )

    async def broadcast(self, call: Call, args: Broadcast) -> Json:
        """Send one message to several of the project: to all of them or to none."""
        if is_operator(call.caller):
            raise self._ctx.refuse("person_required", 400)
        for target in args.target_agent_ids or ():
            await self._chat.check_member(args.project_id, target)
        return await self._sending.broadcast(call, args.project_id, args)

    async def edit_message(self, call: Call, args: EditMessage) -> Json:
        """Put another message in the place of one of the caller's that nobody was given."""
        return await self._corrections.edit(
            call.caller.agent_id,
            args.project_id,
            args.message_id,
            args.content,
            write=partial(call.write, self._ctx.store),
        )

    async def withdraw_message(self, call: Call, args: WithdrawMessage) -> Json:
        """Take back one of the caller's messages that nobody was given."""
        return await self._corrections.withdraw(
            call.caller.agent_id,
            args.project_id,
            args.message_id,
            write=partial(call.write, self._ctx.store),
        )

    async def read_messages(self, call: Call, args: ReadMessages) -> Json:
        """Return an agent's messages behind a cursor; what the person was sent is read then."""
        await self._chat.check_member(args.project_id, args.agent_id)
        page = await self._history.page(args.project_id, args.agent_id, args.after, args.limit)
        await self._history.read_by(call.caller.agent_id, page)
        return asdict(page)

    async def search_messages(self, call: Call, args: SearchMessages) -> Json:
        """Find an agent's messages that contain a text."""
        await self._chat.check_member(args.project_id, args.agent_id)
        found = await self._history.search(args.project_id, args.agent_id, args.text, args.limit)
        return {"messages": found}
