"""The tools that send: ``send_message``, ``broadcast_message``, ``respond_chat``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from aipm_sessions.api import Directory
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Session, Tx
from aipm_file_chat.admission import Admission
from aipm_file_chat.api import Message
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.post import Post
from aipm_file_chat.tables import message_of

Key = Annotated[str, Field(min_length=1, max_length=200)]


class SendMessage(Arguments):
    """To whom and what. The length is checked by the tool, which has its own error for it."""

    target_agent_id: str
    content: str
    related_task_id: Key | None = None
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
        post: Post,
        admission: Admission,
        directory: Directory,
    ) -> None:
        self._ctx = ctx
        self._post = post
        self._admission = admission
        self._directory = directory

    async def send_message(self, call: Call, args: SendMessage) -> Json:
        """Send a message to another member of the project."""
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
        await self._admission.check(project_id, sender_id, (receiver_id,), content)

        async def store(tx: Tx) -> Message:
            return await self._post.store(
                tx,
                project_id=project_id,
                sender_id=sender_id,
                receiver_id=receiver_id,
                content=content,
                related_task_id=related_task_id,
                idempotency_key=idempotency_key,
            )

        message = await self._ctx.store.write(store)
        await self._post.write_out()
        return message

    async def broadcast_message(self, call: Call, args: BroadcastMessage) -> Json:
        """Send one message to several members of the project: to all of them or to none."""
        caller = call.caller
        receivers = await self._receivers(caller, args.target_agent_ids)
        await self._admission.check(caller.project_id, caller.agent_id, receivers, args.content)

        async def store(tx: Tx) -> list[Message]:
            return [
                await self._post.store(
                    tx,
                    project_id=caller.project_id,
                    sender_id=caller.agent_id,
                    receiver_id=receiver,
                    content=args.content,
                )
                for receiver in receivers
            ]

        messages = await self._ctx.store.write(store)
        await self._post.write_out()
        return {
            "success": True,
            "message_ids": [message.id for message in messages],
            "target_agent_ids": list(receivers),
        }

    async def _receivers(self, caller: Session, given: Sequence[str] | None) -> list[str]:
        if given is not None:
            return list(dict.fromkeys(given))
        members = await self._directory.members(self._ctx.store, caller.project_id)
        return [member.id for member in members if member.id != caller.agent_id]

    async def respond_chat(self, call: Call, args: RespondChat) -> Json:
        """Answer the sender of a message, by default of the newest pending one."""
        caller = call.caller
        question = await self._question(caller, args.message_id)
        await self._admission.check(
            caller.project_id, caller.agent_id, (question.sender_id,), args.content
        )
        now = self._ctx.now()

        async def store(tx: Tx) -> Message:
            await tx.run(
                "update messages set read_at = ? where seq = ? and read_at is null",
                *(now, question.seq),
            )
            return await self._post.store(
                tx,
                project_id=caller.project_id,
                sender_id=caller.agent_id,
                receiver_id=question.sender_id,
                content=args.content,
                related_task_id=question.related_task_id,
            )

        answer = await self._ctx.store.write(store)
        await self._post.write_out()
        return {**_sent(answer), "in_reply_to": question.id}

    async def _question(self, caller: Session, message_id: str | None) -> Message:
        """Find what is answered: what was named, the newest unread, or else the newest."""
        if message_id is not None:
            found = await self._post.find(self._ctx.store, message_id)
            if found and (found.project_id, found.receiver_id) == _mailbox(caller):
                return found
            raise self._ctx.refuse("message_not_found", 404, message=message_id)
        row = await self._ctx.store.one(
            "select * from messages where project_id = ? and receiver_id = ? "
            "and read_at is null order by seq desc limit 1",
            *_mailbox(caller),
        )
        newest = message_of(row) if row else None
        newest = newest or await self._post.newest_received(self._ctx.store, *_mailbox(caller))
        if newest is None:
            raise self._ctx.refuse("nothing_to_answer", 404)
        return newest


def _mailbox(caller: Session) -> tuple[str, str]:
    return caller.project_id, caller.agent_id


def _sent(message: Message) -> dict[str, Json]:
    return {"success": True, "message_id": message.id, "target_agent_id": message.receiver_id}
