"""The tools that send: ``send_message``, ``broadcast_message``, ``respond_chat``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from aipm_http_server.api import MAX_KEY_CHARACTERS
from aipm_sessions.api import Directory
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Session, Tx
from aipm_file_chat.api import Message
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.message_store import MessageStore
from aipm_file_chat.validation import MessageValidation

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS)]


class SendMessage(Arguments):
    """To whom and what. Length and task are checked by the tool, which has its own errors."""

    target_agent_id: str
    content: str
    related_task_id: str | None = None
    idempotency_key: Key | None = None


class BroadcastMessage(Arguments):
    """What, and to whom if not to everybody."""

    content: str
    target_agent_ids: Annotated[list[str], Field(min_length=1, max_length=500)] | None = None


class RespondChat(Arguments):
    """What, and in answer to which message."""

    content: str
    message_id: str | None = None


class Sending:
    """Sends as the caller: no argument can say otherwise."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        message_store: MessageStore,
        validation: MessageValidation,
        directory: Directory,
    ) -> None:
        self._ctx = ctx
        self._message_store = message_store
        self._validation = validation
        self._directory = directory

    async def send_message(self, call: Call, args: SendMessage) -> Json:
        """Send a message to another member of the project."""
        await self._validation.check_task(call.caller.project_id, args.related_task_id)
        message = await self.send(
            project_id=call.caller.project_id,
            sender_id=call.caller.agent_id,
            receiver_id=args.target_agent_id,
            content=args.content,
            related_task_id=args.related_task_id,
            idempotency_key=args.idempotency_key,
        )
        return _sent(message)

    async def send(
        self,
        *,
        project_id: str,
        sender_id: str,
        receiver_id: str,
        content: str,
        related_task_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Message:
        """Check, store and write out one message."""
        await self._validation.check(project_id, sender_id, (receiver_id,), content)

        async def store(tx: Tx) -> Message:
            return await self._message_store.store(
                tx,
                project_id=project_id,
                sender_id=sender_id,
                receiver_id=receiver_id,
                content=content,
                related_task_id=related_task_id,
                idempotency_key=idempotency_key,
            )

        message = await self._ctx.store.write(store)
        await self._message_store.write_out()
        return message

    async def broadcast_message(self, call: Call, args: BroadcastMessage) -> Json:
        """Send one message to several members of the project: to all of them or to none."""
        return await self.broadcast(call, call.caller.project_id, args)

    async def broadcast(self, call: Call, project_id: str, args: BroadcastMessage) -> Json:
        """Check, store and write out one message to several members of a project."""
        sender = call.caller.agent_id
        receivers = await self._receivers(project_id, sender, args.target_agent_ids)
        await self._validation.check(project_id, sender, receivers, args.content)

        async def store(tx: Tx) -> Json:
            messages = [
                await self._message_store.store(
                    tx,
                    project_id=project_id,
                    sender_id=sender,
                    receiver_id=receiver,
                    content=args.content,
                )
                for receiver in receivers
            ]
            return {
                "success": True,
                "message_ids": [message.id for message in messages],
                "target_agent_ids": list(receivers),
            }

        sent = await call.write(self._ctx.store, store)
        await self._message_store.write_out()
        return sent

    async def _receivers(
        self, project_id: str, sender: str, given: Sequence[str] | None
    ) -> list[str]:
        if given is not None:
            return list(dict.fromkeys(given))
        members = await self._directory.members(self._ctx.store, project_id)
        return [member.id for member in members if member.id != sender]

    async def respond_chat(self, call: Call, args: RespondChat) -> Json:
        """Answer the sender of a message this agent was given, by default of the newest one."""
        caller = call.caller
        question = await self._question(caller, args.message_id)
        answer = await self.send(
            project_id=caller.project_id,
            sender_id=caller.agent_id,
            receiver_id=question.sender_id,
            content=args.content,
            related_task_id=question.related_task_id,
        )
        return {**_sent(answer), "in_reply_to": question.id}

    async def _question(self, caller: Session, message_id: str | None) -> Message:
        """Find what is answered: what was named, or the newest this session was given."""
        if message_id is not None:
            named = await self._message_store.delivered(self._ctx.store, caller, message_id)
            if named is None:
                raise self._ctx.refuse("message_not_found", 404, message=message_id)
            return named
        newest = await self._message_store.newest_delivered(self._ctx.store, caller)
        if newest is None:
            raise self._ctx.refuse("nothing_to_answer", 404)
        return newest


def _sent(message: Message) -> dict[str, Json]:
    return {"success": True, "message_id": message.id, "target_agent_id": message.receiver_id}
