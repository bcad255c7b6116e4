"""The tools ``request_task``, ``approve_task_request`` and ``reject_task_request``."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY

from aipm_core import Arguments, Call, Json, PluginContext, Session, Tx
from aipm_tasks.api import Approval, NewTask, Priority, Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.creation import Creation
from aipm_tasks.permissions import Permissions
from aipm_tasks.requests import Requests
from aipm_tasks.tools.tasks import DESCRIPTION, ID, REASON, TITLE


class RequestTask(Arguments):
    """Arguments of ``request_task``."""

    title: str = TITLE
    description: str = DESCRIPTION
    priority: Priority = "medium"
    parent_task_id: str | None = None


class AnswerRequest(Arguments):
    """Arguments of ``approve_task_request`` and ``reject_task_request``."""

    task_id: str = ID
    reason: str | None = REASON


class RequestTools:
    """What agents do with requests."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        creation: Creation,
        requests: Requests,
        permissions: Permissions,
    ) -> None:
        self._ctx = ctx
        self._creation = creation
        self._requests = requests
        self._permissions = permissions
        self._directory = ctx.services.use(DIRECTORY)

    async def request_task(self, call: Call, args: RequestTask) -> Json:
        """Make a task for oneself on behalf of whoever asked for it."""
        task = await self._ctx.store.write(lambda tx: self._request(tx, call.caller, args))
        return {
            "task_id": task.id,
            "approval_status": task.approval_status,
            "message": self._ctx.texts(f"requests.made.{task.approval_status}", task_id=task.id),
        }

    async def approve_task_request(self, call: Call, args: AnswerRequest) -> Json:
        """Approve a request."""
        return await self._decide(call.caller, args, approved=True)

    async def reject_task_request(self, call: Call, args: AnswerRequest) -> Json:
        """Reject a request."""
        return await self._decide(call.caller, args, approved=False)

    async def _request(self, tx: Tx, session: Session, args: RequestTask) -> Task:
        asked_by = await self._permissions.spend(tx, session, "request_task")
        requester, me = asked_by or session.agent_id, session.agent_id
        above = await self._directory.is_ancestor(tx, requester, me)
        approval: Approval = "approved" if above else "pending_approval"
        new = NewTask(
            project_id=session.project_id,
            title=args.title,
            actor_id=me,
            description=args.description,
            priority=args.priority,
            assignee_id=me,
            requester_id=requester,
            parent_task_id=args.parent_task_id,
            approval=approval,
        )
        return await self._creation.create(tx, new)

    async def _decide(self, session: Session, args: AnswerRequest, *, approved: bool) -> Json:
        async def unit(tx: Tx) -> Json:
            task = await self._requests.in_project(tx, args.task_id, session.project_id)
            if session.kind != "human" and not await self._directory.is_ancestor(
                tx, session.agent_id, task.assignee_id or ""
            ):
                raise self._requests.not_allowed(task)
            task = await self._requests.decide(
                tx, args.task_id, approved=approved, by=session.agent_id, reason=args.reason
            )
            return {
                "task_id": task.id,
                "approval_status": task.approval_status,
                "status": task.status,
            }

        return await self._ctx.store.write(unit)
