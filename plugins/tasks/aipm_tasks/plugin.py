"""Tasks: who does what, and what an agent does next."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_notifications.api import INBOX
from aipm_sessions.api import DECISIONS, DIRECTORY, GUIDANCE, SESSION_DESK, WORK_BOARD

from aipm_core import (
    Access,
    AnyTool,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    hookimpl,
    tool,
)
from aipm_tasks.api import CONSENTS, TASK_DESK
from aipm_tasks.attendance import Attendance
from aipm_tasks.bindings import Bindings
from aipm_tasks.chat_tools import ChatTools
from aipm_tasks.config import TasksConfig
from aipm_tasks.consents import Consents
from aipm_tasks.creation import Creation
from aipm_tasks.desk import DESK, Desk
from aipm_tasks.ledger import Ledger
from aipm_tasks.moves import Moves
from aipm_tasks.next_action import LONGEST_WAIT, NextAction
from aipm_tasks.overview import OVERVIEW, Overview
from aipm_tasks.reporting import Reporting
from aipm_tasks.request_tools import RequestTools
from aipm_tasks.requests import Requests
from aipm_tasks.rules import Rules
from aipm_tasks.tables import MIGRATIONS
from aipm_tasks.task_tools import TaskTools
from aipm_tasks.work import TaskWork


class Tasks(Plugin[TasksConfig]):
    """The tasks of every project."""

    config_model = TasksConfig
    provides = (TASK_DESK, CONSENTS, DESK, OVERVIEW)
    requires = (DIRECTORY, SESSION_DESK, WORK_BOARD, GUIDANCE, DECISIONS)
    uses = (INBOX,)
    offers = (
        "approve_task_request",
        "create_task",
        "get_my_task",
        "get_next_action",
        "list_tasks",
        "notify_task_session",
        "reject_task_request",
        "report_completed",
        "request_task",
        "update_task_from_chat",
        "update_task_status",
    )

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        super().__init__(ctx)
        ledger, bindings, consents = Ledger(ctx), Bindings(ctx), Consents()
        rules = Rules(ctx, ledger)
        moves, creation = Moves(ctx, ledger, rules), Creation(ctx, ledger, rules)
        desk = Desk(ctx, ledger, moves, creation, bindings)
        requests, work = Requests(ctx, ledger, moves), TaskWork(ctx, ledger, bindings)
        self._tools = TaskTools(ctx, desk, ledger, rules, moves, creation, bindings)
        self._reporting = Reporting(ctx, ledger, rules, moves, bindings)
        self._requests = RequestTools(ctx, ledger, creation, requests, consents)
        self._chat = ChatTools(ctx, desk, ledger, rules, moves, consents)
        self._next = NextAction(ctx, work)
        self._attendance = Attendance(ctx, bindings)
        ctx.services.use(SESSION_DESK).observe(self._attendance)
        ctx.services.use(WORK_BOARD).add(work)
        ctx.services.use(DECISIONS).add(requests)
        ctx.services.provide(TASK_DESK, desk)
        ctx.services.provide(CONSENTS, consents)
        ctx.services.provide(DESK, desk)
        ctx.services.provide(OVERVIEW, Overview(ctx, desk, bindings))

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own tasks, their history, and who works on them."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer everything agents do with tasks."""
        yield tool(self._next.get_next_action, access=Access.SESSION, deadline=LONGEST_WAIT + 15)
        yield tool(self._tools.get_my_task, access=Access.SESSION, read_only=True)
        yield tool(self._tools.list_tasks, access=Access.SESSION, read_only=True)
        yield tool(self._tools.create_task, access=Access.TASK)
        yield tool(self._tools.update_task_status, access=Access.TASK)
        yield tool(self._reporting.report_completed, access=Access.TASK)
        yield tool(self._requests.request_task, access=Access.SESSION)
        yield tool(self._requests.approve_task_request, access=Access.MANAGER)
        yield tool(self._requests.reject_task_request, access=Access.MANAGER)
        yield tool(self._chat.update_task_from_chat, access=Access.CHAT, destructive=True)
        yield tool(self._chat.notify_task_session, access=Access.CHAT)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Free the tasks of sessions that fell silent."""
        yield Lifespan(name="task_leases", open=self._attendance.lifespan)
