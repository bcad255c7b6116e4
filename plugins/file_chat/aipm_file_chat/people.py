"""Chat for people: they send in their own name and see their own projects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

from aipm_sessions.api import OPERATOR, Directory

from aipm_core import Json, PluginContext, Tx
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.history import History, Page
from aipm_file_chat.message_store import MessageStore
from aipm_file_chat.validation import MessageValidation

Write: TypeAlias = Callable[
    [Callable[[Tx], Coroutine[Any, Any, dict[str, Json]]]], Awaitable[dict[str, Json]]
]


class PeoplesChat:
    """What a person's user interface and the command line can do with chat."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        directory: Directory,
        validation: MessageValidation,
        post: MessageStore,
        history: History,
    ) -> None:
        self._ctx = ctx
        self._directory = directory
        self._validation = validation
        self._post = post
        self._history = history

    async def check_member(self, project_id: str, agent_id: str) -> None:
        """Refuse an agent that is not of the project as if it did not exist."""
        if not await self._directory.is_member(self._ctx.store, agent_id, project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=agent_id)

    async def say(
        self,
        person_id: str,
        project_id: str,
        agent_id: str,
        content: str,
        *,
        related_task_id: str | None = None,
        idempotency_key: str | None = None,
        write: Write | None = None,
    ) -> dict[str, Json]:
        """Send as a person who is a member of the project; ``write`` runs the unit that does it."""
        if person_id == OPERATOR:
            raise self._ctx.refuse("person_required", 400)
        person = await self._directory.agent(self._ctx.store, person_id)
        if person is None:
            raise self._ctx.refuse("agent_not_found", 404, agent=person_id)
        if person.kind != "human":
            raise self._ctx.refuse("not_a_human", 403, agent=person_id)
        if await self._directory.project(self._ctx.store, project_id) is None:
            raise self._ctx.refuse("project_not_found", 404, project=project_id)
        if not await self._directory.is_member(self._ctx.store, person_id, project_id):
            raise self._ctx.refuse(
                "target_agent_not_in_project", 403, agent=person_id, project=project_id
            )
        await self._validation.check_task(project_id, related_task_id)
        await self._validation.check(project_id, person_id, (agent_id,), content)

        async def unit(tx: Tx) -> dict[str, Json]:
            message = await self._post.store(
                tx,
                project_id=project_id,
                sender_id=person_id,
                receiver_id=agent_id,
                content=content,
                related_task_id=related_task_id,
                idempotency_key=idempotency_key,
            )
            shown = await self._history.one(tx, message.seq)
            return {"success": True, "message_id": message.id, "message": shown}

        sent = await (write or self._ctx.store.write)(unit)
        await self._post.write_out()
        return sent

    async def show(
        self, project_id: str, agent_id: str, *, after: int = 0, limit: int = 50
    ) -> Page:
        """Return a page of an agent's chat for whoever has the command line; nothing is marked."""
        if not await self._directory.is_member(self._ctx.store, agent_id, project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=agent_id)
        return await self._history.page(project_id, agent_id, after, limit)

    async def find(
        self, project_id: str, agent_id: str, text: str, *, limit: int = 50
    ) -> list[dict[str, Json]]:
        """Find messages of an agent's chat that contain a text."""
        if not await self._directory.is_member(self._ctx.store, agent_id, project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=agent_id)
        return await self._history.search(project_id, agent_id, text, limit)
