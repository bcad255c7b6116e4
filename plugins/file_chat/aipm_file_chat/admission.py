"""What must be true before a message is stored."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from aipm_sessions.api import Directory

from aipm_core import InvalidArguments, PluginContext
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.lines import has_file
from aipm_file_chat.places import Place
from aipm_file_chat.projection import Projection

LONGEST = 4000  # code points
_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


class Admission:
    """Refuses a message, in the order of seed 001, while nothing has been written yet."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        directory: Directory,
        projection: Projection,
    ) -> None:
        self._ctx = ctx
        self._directory = directory
        self._projection = projection

    async def check(
        self, project_id: str, sender_id: str, receiver_ids: Sequence[str], content: str
    ) -> None:
        """Raise the ``CallError`` that sending this to all of them would get."""
        self._check_content(content)
        for receiver_id in receiver_ids:
            await self._check_receiver(project_id, sender_id, receiver_id)
        await self._check_files(project_id, (sender_id, *receiver_ids))

    def _check_content(self, content: str) -> None:
        if len(content) > LONGEST:
            raise self._ctx.refuse("content_too_long", 400, longest=LONGEST, length=len(content))
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
        places = [Place(directory, agent) for agent in agent_ids if has_file(agent)]
        faults = await self._projection.faults(places)
        for place in places:
            if (reason := faults[place]) is not None:
                why = self._ctx.texts(f"reasons.{reason}")
                raise self._ctx.refuse("chat_file_unsafe", 500, file=place.shown, reason=why)
