"""What other plugins may know about notifications."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from aipm_core import Reader, ServiceKey, Tx
from aipm_core.models import Purpose

Type: TypeAlias = Literal[
    "interrupt", "message", "new_message", "task_session_notice", "delegation_completed"
]


class Inbox(Protocol):
    """Leaves notifications for an agent in a project."""

    async def put(
        self,
        tx: Tx,
        *,
        agent_id: str,
        project_id: str,
        type: Type,  # noqa: A002
        message: str,
        action: str | None = None,
        instruction: str | None = None,
        audience: Purpose | None = None,
        task_id: str | None = None,
    ) -> str:
        """Leave one in the caller's transaction and return its id.

        ``audience`` narrows it to sessions of one purpose. Without an ``instruction`` the one of
        the plugin's catalogue for this type and action is used.
        """
        ...

    async def unread(self, db: Reader, agent_id: str, project_id: str) -> int:
        """Count the unread ones of an agent in a project."""
        ...


INBOX = ServiceKey[Inbox]("notifications.inbox")
