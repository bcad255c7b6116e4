"""What must be true before a message is stored."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from aipm_sessions.api import Directory
from aipm_tasks.api import TaskService

from aipm_core import InvalidArguments, PluginContext
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.lines import has_file
from aipm_file_chat.projection import Projection
from aipm_file_chat.safe_paths import ChatPath

MAX_CHARACTERS = 4000  # code points
_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


class MessageValidation:
    """Refuses a message while nothing has been written yet."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        directory: Directory,
        projection: Projection,
        tasks: TaskService | None,
    ) -> None:
        self._ctx = ctx
        self._directory = directory
        self._projection = projection
        self._tasks = tasks

    async def check(
        self, project_id: str, sender_id: str, receiver_ids: Sequence[str], content: str
    ) -> None:
        """Raise the ``CallError`` that sending this to all of them would get."""
        self._check_content(content)
        for receiver_id in receiver_ids:
            await self._check_receiver(project_id, sender_id, receiver_id)
        await self._check_files(project_id, (sender_id, *receiver_ids))

    async def check_task(self, project_id: str, task_id: str | None) -> None:
        """Refuse to name a task that the project does not have, if there are tasks at all."""
        if task_id is not None and _TASK_ID.fullmatch(task_id) is None:
            raise InvalidArguments(self._ctx.texts("errors.related_task_not_an_id"))
        if task_id is None or self._tasks is None:
            return
        task = await self._tasks.find(self._ctx.store, task_id)
        if task is None or task.project_id != project_id:
            raise self._ctx.refuse("task_not_found", 404, task=task_id)

    def _check_content(self, content: str) -> None:
        if len(content) > MAX_CHARACTERS:
            raise self._ctx.refuse(
                "content_too_long", 400, longest=MAX_CHARACTERS, length=len(content)
            )
        if all(unicodedata.category(character) in _INVISIBLE for character in content):
            raise self._ctx.refuse("content_empty", 400)
        try:
            content.encode()
        except UnicodeEncodeError:
            raise InvalidArguments(self._ctx.texts("errors.content_not_text")) from None

    async def _check_receiver(self, project_id: str, sender_id: str, receiver_id: str) -> None:
        refuse, db = self._ctx.refuse, self._ctx.store
        if receiver_id == sender_id:
            raise refuse("cannot_message_self", 400)
        if await self._directory.agent(db, receiver_id) is None:
            raise refuse("agent_not_found", 404, agent=receiver_id)
        if not await self._directory.is_member(db, receiver_id, project_id):
            raise refuse("target_agent_not_in_project", 403, agent=receiver_id, project=project_id)

    async def _check_files(self, project_id: str, agent_ids: Sequence[str]) -> None:
        project = await self._directory.project(self._ctx.store, project_id)
        if project is None or project.directory is None:
            raise self._ctx.refuse("working_directory_not_set", 500, project=project_id)
        directory = str(project.directory)
        places = [ChatPath(directory, agent) for agent in agent_ids if has_file(agent)]
        faults = await self._projection.faults(places)
        for place in places:
            if (reason := faults[place]) is not None:
                why = self._ctx.texts(f"reasons.{reason}")
                raise self._ctx.refuse("chat_file_unsafe", 500, file=place.shown, reason=why)
