"""What other plugins may know about notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from aipm_core import Purpose, Reader, ServiceKey, Session, Tx

NotificationType: TypeAlias = Literal[
    "interrupt", "message", "new_message", "task_session_notice", "delegation_completed"
]


def inbox_topic(project_id: str, agent_id: str) -> str:
    """Name what wakes a waiting tool of an agent when a notification is left for it.

    A tool that waits listens to this topic and ends its wait when ``Inbox.interrupted`` says so.
    """
    return f"inbox:{project_id}:{agent_id}"


class Inbox(Protocol):
    """Leaves notifications for an agent in a project."""

    async def put(
        self,
        tx: Tx,
        *,
        agent_id: str,
        project_id: str,
        type: NotificationType,  # noqa: A002
        message: str,
        action: str | None = None,
        instruction: str | None = None,
        audience: Purpose | None = None,
        task_id: str | None = None,
        conversation_id: str | None = None,
        reason: str | None = None,
        session_id: str | None = None,
    ) -> str:
        """Leave one in the caller's transaction and return its id.

        ``audience`` narrows it to sessions of one purpose, ``session_id`` to one session. An
        interrupt that names none is for the work that goes on: if one session alone can be meant,
        it is for that one, and a later session with other work never sees it. Without an
        ``instruction`` the one of the plugin's catalogue for this type and action is used. What
        others wrote goes into ``message`` or ``reason``, never into an ``instruction``: agents
        follow that.
        """
        ...

    async def unread(self, db: Reader, agent_id: str, project_id: str) -> int:
        """Count the unread ones of an agent in a project."""
        ...

    async def interrupted(self, db: Reader, session: Session) -> bool:
        """Return whether an unread interrupt holds this session: a wait must end now."""
        ...

    async def newest(self, db: Reader, session: Session) -> int:
        """Return the number of the newest ordinary one this session has not read, or 0."""
        ...

    async def paused_since(self, db: Reader, session: Session) -> str | None:
        """Return when the session was asked to pause, unless it was asked to resume since."""
        ...

    async def settle(self, tx: Tx, *, agent_id: str, project_id: str, task_id: str) -> None:
        """Count interrupts about a task as read: nothing is left of it to stop."""
        ...

    async def hand_over(self, tx: Tx, session_id: str, successor_id: str) -> None:
        """Let interrupts for a session hold the one that goes on with its work."""
        ...

    async def spare(self, tx: Tx, session: Session, predecessors: Sequence[str]) -> None:
        """Let a session that begins other work not be held by what was meant for one that is over.

        ``predecessors`` worked on the same before: what was meant for them holds it.
        """
        ...


INBOX = ServiceKey[Inbox]("notifications.inbox")
