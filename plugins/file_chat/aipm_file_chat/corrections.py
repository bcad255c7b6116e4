"""Takes back or replaces a person's message as long as nobody has been given it."""

from __future__ import annotations

from aipm_core import CallError, Json, PluginContext, Tx
from aipm_file_chat.api import Message
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.history import History
from aipm_file_chat.message_store import MessageStore
from aipm_file_chat.people import Write
from aipm_file_chat.tables import message_of, read_topic
from aipm_file_chat.validation import MessageValidation


class Corrections:
    """A message changes until it is read, and never afterwards: agents act on what they read."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        post: MessageStore,
        validation: MessageValidation,
        history: History,
    ) -> None:
        self._ctx = ctx
        self._post = post
        self._validation = validation
        self._history = history

    async def withdraw(
        self, person_id: str, project_id: str, message_id: str, write: Write | None = None
    ) -> dict[str, Json]:
        """Take a message back; its receiver is never given it."""

        async def unit(tx: Tx) -> dict[str, Json]:
            message = await self._take_back(tx, person_id, project_id, message_id)
            await self._post.store_withdrawal(tx, message)
            return {"message_id": message.id, "message": await self._history.one(tx, message.seq)}

        done = await (write or self._ctx.store.write)(unit)
        await self._post.write_out()
        return done

    async def edit(
        self,
        person_id: str,
        project_id: str,
        message_id: str,
        content: str,
        write: Write | None = None,
    ) -> dict[str, Json]:
        """Put another message in the place of one; only the new one is ever given to anybody."""
        receiver = await self._receiver(person_id, project_id, message_id)
        await self._validation.check(project_id, person_id, (receiver,), content)

        async def unit(tx: Tx) -> dict[str, Json]:
            old = await self._take_back(tx, person_id, project_id, message_id)
            made = await self._post.store(
                tx,
                project_id=project_id,
                sender_id=person_id,
                receiver_id=old.receiver_id,
                content=content,
                related_task_id=old.related_task_id,
                corrects=old.id,
            )
            shown = await self._history.one(tx, made.seq)
            return {"message_id": made.id, "message": shown, "corrects": old.id}

        done = await (write or self._ctx.store.write)(unit)
        await self._post.write_out()
        return done

    def _unknown(self) -> CallError:
        """A message of somebody else is as unknown as one that does not exist."""
        text = self._ctx.texts("errors.own_message_not_found")
        return CallError(text, code="message_not_found", status=404)

    async def _receiver(self, person_id: str, project_id: str, message_id: str) -> str:
        row = await self._ctx.store.one(
            "select receiver_id from messages where id = ? and project_id = ? and sender_id = ?",
            *(message_id, project_id, person_id),
        )
        if row is None:
            raise self._unknown()
        return str(row["receiver_id"])

    async def _take_back(self, tx: Tx, person_id: str, project_id: str, message_id: str) -> Message:
        """Mark a message as withdrawn, unless it was given to somebody; then say so."""
        now = self._ctx.now()
        row = await tx.one(
            "update messages set withdrawn_at = ?, read_at = ? where id = ? and project_id = ? "
            "and sender_id = ? and read_at is null and conversation_id is null returning *",
            *(now, now, message_id, project_id, person_id),
        )
        if row is not None:
            tx.wake(read_topic(project_id, row["receiver_id"]), read_topic(project_id, person_id))
            return message_of(row)
        found = await tx.one(
            "select withdrawn_at from messages where id = ? and project_id = ? and sender_id = ?",
            *(message_id, project_id, person_id),
        )
        if found is None:
            raise self._unknown()
        if found["withdrawn_at"]:
            raise self._ctx.refuse("message_withdrawn", 409)
        raise self._ctx.refuse("message_already_seen", 409)
