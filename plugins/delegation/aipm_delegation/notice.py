"""Tells a task session what became of its delegations."""

from __future__ import annotations

import json

from aipm_notifications.api import Inbox

from aipm_core import Json, PluginContext, Tx, quoted
from aipm_delegation.config import DelegationConfig
from aipm_delegation.delegation_store import Delegation, Outcome

_MAX_RESULT_CHARACTERS = 500  # get_task_conversations returns all of it


class Notice:
    """Tells the task session what became of its wish."""

    def __init__(self, ctx: PluginContext[DelegationConfig], inbox: Inbox | None) -> None:
        self._ctx = ctx
        self._inbox = inbox

    async def send(self, tx: Tx, delegation: Delegation, outcome: Outcome, result: Json) -> None:
        """Leave a notification, if there is a place for one."""
        if self._inbox is None:
            return
        await self._inbox.put(
            tx,
            agent_id=delegation.agent_id,
            project_id=delegation.project_id,
            type="delegation_completed",
            action=outcome,
            message=self._ctx.texts(
                f"notices.{outcome}",
                delegation_id=delegation.id,
                target=delegation.target_agent_id,
                result=_short(result),
            ),
            instruction=self._ctx.texts("notices.instruction"),
            audience="task",
            task_id=delegation.task_id,
        )


def _short(result: Json) -> str:
    if result is None:
        return "-"
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return quoted(text, _MAX_RESULT_CHARACTERS)
