"""Which conversations a note to a task session may mention."""

from __future__ import annotations

import re

from aipm_core import InvalidArguments, PluginContext, Reader, Session
from aipm_tasks.api import TaskHooks
from aipm_tasks.config import TasksConfig

# As ids are made here: no sentence can be written so.
_ID = re.compile(r"[a-z]{1,8}_[0-9a-f]{1,48}")


class Mentions:
    """Asks the plugins that know conversations; without one, only the form can be checked."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx

    async def check(self, db: Reader, session: Session, conversation_id: str) -> None:
        """Refuse what names no conversation of the session's agent."""
        sources = self._ctx.given(TaskHooks.aipm_conversation_sources)
        if not sources:
            if _ID.fullmatch(conversation_id) is None:
                raise InvalidArguments(self._ctx.texts("errors.not_a_conversation"))
            return
        for owned in sources:
            if await owned.record.takes_part(db, session, conversation_id):
                return
        raise self._ctx.refuse("conversation_not_found", 404)
