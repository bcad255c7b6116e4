"""What a chat session may do about tasks: ``update_task_from_chat``, ``notify_task_session``."""

from __future__ import annotations

from typing import Literal

from aipm_notifications.api import INBOX, Inbox
from pydantic import Field

from aipm_core import Arguments, Call, InvalidArguments, Json, PluginContext, Session, Tx
from aipm_tasks.api import TaskStatus
from aipm_tasks.config import TasksConfig
from aipm_tasks.editing import Editing, reworded
from aipm_tasks.mentions import Mentions
from aipm_tasks.permissions import Permissions
from aipm_tasks.rules import Rules
from aipm_tasks.service import SqlTaskService
from aipm_tasks.status_changes import StatusChanges
from aipm_tasks.task_store import TaskStore
from aipm_tasks.tools.tasks import ID
from aipm_tasks.transitions import ADJUSTABLE


class UpdateTaskFromChat(Arguments):
    """Arguments of ``update_task_from_chat``."""

    task_id: str = ID
    description: str | None = Field(default=None, max_length=20_000)
    title: str | None = Field(default=None, max_length=200, pattern=r"\S")
    status: TaskStatus | None = None
    delete: bool = False


class NotifyTaskSession(Arguments):
    """Arguments of ``notify_task_session``."""

    message: str = Field(max_length=4000, pattern=r"\S")
    conversation_id: str | None = Field(default=None, min_length=1, max_length=64)
    related_task_id: str | None = Field(default=None, min_length=1, max_length=64)
    priority: Literal["normal", "high"] = "normal"


class ChatTools:
    """Each call first spends the consent it needs, in its own transaction."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        service: SqlTaskService,
        task_store: TaskStore,
        rules: Rules,
        status_changes: StatusChanges,
        editing: Editing,
        permissions: Permissions,
        mentions: Mentions,
    ) -> None:
        self._ctx = ctx
        self._service = service
        self._task_store = task_store
        self._rules = rules
        self._status_changes = status_changes
        self._editing = editing
        self._permissions = permissions
        self._mentions = mentions
        self._inbox = ctx.services.find(INBOX)

    async def update_task_from_chat(self, call: Call, args: UpdateTaskFromChat) -> Json:
        """Change a task that has not started."""
        texts = {"title": args.title, "description": args.description}
        changed = {name: text for name, text in texts.items() if text is not None}
        status: TaskStatus | None = "cancelled" if args.delete else args.status
        if args.delete and args.status not in (None, "cancelled"):
            raise InvalidArguments(self._ctx.texts("errors.delete_or_status"))
        if not changed and status is None:
            raise InvalidArguments(self._ctx.texts("errors.nothing_to_change"))
        return await self._ctx.store.write(
            lambda tx: self._update(tx, call.caller, args.task_id, changed, status)
        )

    async def notify_task_session(self, call: Call, args: NotifyTaskSession) -> Json:
        """Tell one's own task session something; high priority interrupts it."""
        if self._inbox is None:
            raise self._ctx.refuse("notifications_off", 404)
        inbox = self._inbox
        notification_id = await self._ctx.store.write(
            lambda tx: self._notify(tx, call.caller, args, inbox)
        )
        return {"success": True, "notification_id": notification_id}

    async def _update(
        self,
        tx: Tx,
        session: Session,
        task_id: str,
        texts: dict[str, str],
        status: TaskStatus | None,
    ) -> Json:
        asked_by = await self._permissions.spend(tx, session, "update_task_from_chat")
        task = await self._task_store.in_project(tx, task_id, session.project_id)
        await self._rules.check_touch(tx, session, task)
        if asked_by is not None:
            await self._rules.check_authority(tx, asked_by, task)
        if task.status not in ADJUSTABLE:
            raise self._ctx.refuse("task_not_adjustable", 409, task_id=task.id, status=task.status)
        reason = self._ctx.texts("asked_by", agent_id=asked_by) if asked_by else None
        if texts:
            wanted = reworded(task, **texts)
            task = await self._editing.rewrite(
                tx, task, wanted, actor_id=session.agent_id, reason=reason
            )
        if status is not None:
            await self._status_changes.move(
                tx, task, status, actor_id=session.agent_id, reason=reason
            )
        fields = [*texts, *(["status"] if status else [])]
        return {"task_id": task.id, "updated_fields": fields}

    async def _notify(self, tx: Tx, session: Session, args: NotifyTaskSession, inbox: Inbox) -> str:
        await self._permissions.spend(tx, session, "notify_task_session")
        task_id = args.related_task_id
        if task_id is not None:
            await self._task_store.in_project(tx, task_id, session.project_id)
        instruction, about = None, args.conversation_id
        if about is not None:
            await self._mentions.check(tx, session, about)
            instruction = self._ctx.texts("instructions.conversation_notice", conversation_id=about)
        return await inbox.put(
            tx,
            agent_id=session.agent_id,
            project_id=session.project_id,
            type="interrupt" if args.priority == "high" else "task_session_notice",
            action="notice",
            message=args.message,
            instruction=instruction,
            audience="task",
            task_id=task_id,
            conversation_id=about,
        )
