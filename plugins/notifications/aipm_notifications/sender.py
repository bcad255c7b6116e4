"""Notifications from people: what ``aipm notify`` and user interfaces send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, TypeAlias

from aipm_sessions.api import DIRECTORY

from aipm_core import CallError, ConfigError, Json, PluginContext, Purpose, ServiceKey, Tx, quoted
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.inbox import SqlInbox

INTERRUPTS = ("cancel", "pause", "blocked")
_MAX_CHARACTERS = 4000
Write: TypeAlias = Callable[
    [Callable[[Tx], Coroutine[Any, Any, dict[str, Json]]]], Awaitable[dict[str, Json]]
]
SentType: TypeAlias = Literal["interrupt", "message"]


class Sender:
    """Checks who is addressed and leaves the notification."""

    def __init__(self, ctx: PluginContext[NotificationsConfig], inbox: SqlInbox) -> None:
        self._ctx = ctx
        self._inbox = inbox
        self._directory = ctx.services.find(DIRECTORY)

    async def send(
        self,
        agent_id: str,
        project_id: str,
        *,
        type: SentType,  # noqa: A002
        action: str | None,
        message: str | None,
        audience: Purpose | None,
        write: Write | None = None,
    ) -> dict[str, Json]:
        """Leave a notification for a member of a project; ``write`` runs the unit that does it."""
        text = self._worded(type, action, message)

        async def unit(tx: Tx) -> dict[str, Json]:
            await self._check_addressee(tx, agent_id, project_id)
            made = await self._inbox.put(
                tx,
                agent_id=agent_id,
                project_id=project_id,
                type=type,
                message=text,
                action=action,
                audience=audience,
            )
            told = {"id": made, "agent_id": agent_id, "project_id": project_id, "type": type}
            return {**told, "action": action, "message": text, "audience": audience}

        return await (write or self._ctx.store.write)(unit)

    async def check_member(self, agent_id: str, project_id: str) -> None:
        """Refuse an agent that is not of the project as if it did not exist."""
        directory, db = self._directory, self._ctx.store
        if directory is None or not await directory.is_member(db, agent_id, project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=quoted(agent_id))

    def _worded(self, type: SentType, action: str | None, message: str | None) -> str:  # noqa: A002
        if type == "interrupt" and action not in INTERRUPTS:
            raise _bad(f"an interrupt needs an action: {', '.join(INTERRUPTS)}")
        if type == "message" and action in INTERRUPTS:
            raise _bad(f"the action {action} needs the type interrupt")
        if message is None:
            message = self._ctx.texts.find(f"messages.{action}")
        if message is None or not message.strip():
            raise _bad("a message needs a text")
        if len(message) > _MAX_CHARACTERS:
            raise _bad(f"the text is longer than {_MAX_CHARACTERS} characters")
        return message

    async def _check_addressee(self, tx: Tx, agent_id: str, project_id: str) -> None:
        if self._directory is None:
            raise ConfigError("this command needs the plugin 'sessions', which is switched off")
        if await self._directory.project(tx, project_id) is None:
            raise _missing("project", f"there is no project {project_id!r}")
        if await self._directory.agent(tx, agent_id) is None:
            raise _missing("agent", f"there is no agent {agent_id!r}")
        if not await self._directory.is_member(tx, agent_id, project_id):
            raise _missing("agent", f"agent {agent_id!r} does not work on project {project_id!r}")


SENDER = ServiceKey[Sender]("notifications.sender")


def _bad(message: str) -> CallError:
    return CallError(message, code="invalid_notification", status=400)


def _missing(what: str, message: str) -> CallError:
    return CallError(message, code=f"{what}_not_found", status=404)
