"""The tools that hand a wish over to the chat session and report back."""

from __future__ import annotations

import json
from typing import Annotated, Any

from aipm_sessions.api import Directory, SessionStore
from aipm_tasks.api import TaskService
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Reader, Session, Tx
from aipm_delegation.config import DelegationConfig
from aipm_delegation.delegation_store import Delegation, DelegationStore, Outcome
from aipm_delegation.notice import Notice

MAX_CHARACTERS = 4000
_MAX_RESULT_CHARACTERS = 16_000
_Id = Annotated[str, Field(max_length=200)]


class Delegate(Arguments):
    """Arguments of ``delegate_to_chat_session``."""

    target_agent_id: _Id
    purpose: str
    context: str | None = None


class ReportDelegation(Arguments):
    """Arguments of ``report_delegation_completed``."""

    delegation_id: _Id
    result: str | dict[str, Any] | None = None
    status: Outcome = "completed"


class DelegationTools:
    """Takes wishes from task sessions and results from chat sessions."""

    def __init__(
        self,
        ctx: PluginContext[DelegationConfig],
        delegation_store: DelegationStore,
        sessions: SessionStore,
        directory: Directory,
        tasks: TaskService | None,
        notice: Notice,
    ) -> None:
        self._ctx = ctx
        self._delegation_store = delegation_store
        self._sessions = sessions
        self._directory = directory
        self._tasks = tasks
        self._notice = notice

    async def delegate_to_chat_session(self, call: Call, args: Delegate) -> Json:
        """Hand communication over to the agent's own chat session."""
        me = call.caller

        async def delegate(tx: Tx) -> str:
            await self._sessions.check_open(tx, me)
            await self._check_target(tx, me, args.target_agent_id)
            self._check_text(args.purpose)
            if args.context is not None and len(args.context) > MAX_CHARACTERS:
                raise self._ctx.refuse("content_too_long", 400, limit=MAX_CHARACTERS)
            task = await self._tasks.of_session(tx, me.id) if self._tasks else None
            task_id = task.id if task else None
            return await self._delegation_store.add(
                tx, me, args.target_agent_id, args.purpose, args.context, task_id
            )

        made = await self._ctx.store.write(delegate)
        return {"success": True, "delegation_id": made, "message": self._ctx.texts("delegated")}

    async def report_delegation_completed(self, call: Call, args: ReportDelegation) -> Json:
        """Say what became of a delegation."""
        me = call.caller
        if len(json.dumps(args.result, ensure_ascii=False)) > _MAX_RESULT_CHARACTERS:
            raise self._ctx.refuse("content_too_long", 400, limit=_MAX_RESULT_CHARACTERS)

        async def report(tx: Tx) -> None:
            delegation = await self._mine(tx, me, args.delegation_id)
            await self._delegation_store.finish(tx, delegation, args.status, args.result)
            await self._notice.send(tx, delegation, args.status, args.result)

        await self._ctx.store.write(report)
        return {"delegation_id": args.delegation_id, "status": args.status}

    async def _check_target(self, db: Reader, me: Session, target_id: str) -> None:
        if target_id == me.agent_id:
            raise self._ctx.refuse("cannot_message_self", 400)
        if await self._directory.agent(db, target_id) is None:
            raise self._ctx.refuse("agent_not_found", 404, agent=target_id)
        if not await self._directory.is_member(db, target_id, me.project_id):
            raise self._ctx.refuse("target_agent_not_in_project", 403, agent=target_id)

    def _check_text(self, text: str) -> None:
        if not text.strip():
            raise self._ctx.refuse("content_empty", 400)
        if len(text) > MAX_CHARACTERS:
            raise self._ctx.refuse("content_too_long", 400, limit=MAX_CHARACTERS)

    async def _mine(self, tx: Tx, me: Session, delegation_id: str) -> Delegation:
        """Find an unfinished delegation of this agent; somebody else's does not exist for it."""
        found = await self._delegation_store.find(tx, delegation_id)
        if found is None or (found.agent_id, found.project_id) != (me.agent_id, me.project_id):
            raise self._ctx.refuse("delegation_not_found", 404, delegation_id=delegation_id)
        if found.over:
            raise self._ctx.refuse(
                "delegation_already_processed",
                409,
                delegation_id=delegation_id,
                status=found.status,
            )
        return found
