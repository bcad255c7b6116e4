"""A person's answer, and the note that may go with it to the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aipm_notifications.api import INBOX

from aipm_core import Json, PluginContext, Tx
from aipm_policy.api import Confirmation
from aipm_policy.config import PolicyConfig
from aipm_policy.grants import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsAnswer:
    """A yes or no to a question. ``reason`` goes on record, ``note`` to the agent."""

    confirmation_id: str
    approved: bool
    reason: str | None = None
    note: str | None = None
    scope: Scope = "once"
    project_id: str | None = None
    """If given, the question must be one of this project."""
    instead: Mapping[str, Json] | None = None
    """With a no: the arguments one would agree to."""


class AnswerNotes:
    """Sends notes as notifications, if there are any to be had."""

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        self._ctx = ctx
        self._inbox = ctx.services.find(INBOX)

    async def tell(self, tx: Tx, asked: Confirmation, answer: PersonsAnswer, by: str) -> None:
        """Tell the agent what the person wrote beside the answer."""
        if not answer.note:
            return
        if self._inbox is None:
            raise self._ctx.refuse("notifications_off", 404)
        key = "notes.approved" if answer.approved else "notes.denied"
        said = {"tool": asked.tool, "person": by, "note": answer.note}
        await self._inbox.put(
            tx,
            agent_id=asked.agent_id,
            project_id=asked.project_id,
            type="message",
            action="confirmation_note",
            message=self._ctx.texts(key, **said),
        )
