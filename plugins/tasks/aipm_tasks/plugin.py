"""Tasks: who does what, and what an agent does next."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

from aipm_notifications.api import INBOX
from aipm_operations.api import Retention
from aipm_sessions.api import (
    DIRECTORY,
    INSTRUCTIONS,
    SESSIONS,
    WORK,
    DecisionSource,
    ProjectObserver,
    SessionObserver,
    WorkSource,
)
from aipm_views.api import ActivitySource, InboxSource, View, ViewFields

from aipm_core import (
    Access,
    AnyTool,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    Trait,
    hookimpl,
    tool,
)
from aipm_tasks.api import TASKS, TaskHooks
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.creation import Creation
from aipm_tasks.editing import Editing
from aipm_tasks.finishing import Finishing
from aipm_tasks.inbox_items import BlockedTasks, PendingRequests
from aipm_tasks.leaving import Leaving
from aipm_tasks.mentions import Mentions
from aipm_tasks.next_step import TaskWork
from aipm_tasks.overview import OVERVIEW, Overview
from aipm_tasks.permissions import Permissions
from aipm_tasks.requests import Requests
from aipm_tasks.retention import retention_rules
from aipm_tasks.rules import Rules
from aipm_tasks.service import SqlTaskService
from aipm_tasks.session_watch import SessionWatch
from aipm_tasks.status_changes import StatusChanges
from aipm_tasks.tables import MIGRATIONS
from aipm_tasks.task_store import TaskStore
from aipm_tasks.tools.chat import ChatTools
from aipm_tasks.tools.next_action import MAX_WAIT_SECONDS, NextAction
from aipm_tasks.tools.reporting import Reporting
from aipm_tasks.tools.requests import RequestTools
from aipm_tasks.tools.tasks import TaskTools
from aipm_tasks.views import TaskFields, TaskHistory, TaskView
from aipm_tasks.waiting import TaskWaits


class Tasks(Plugin[TasksConfig]):
    """The tasks of every project."""

    config_model = TasksConfig
    provides = (TASKS, OVERVIEW)
    hooks = TaskHooks
    requires = (DIRECTORY, SESSIONS, WORK, INSTRUCTIONS)
    uses = (INBOX,)

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        super().__init__(ctx)
        task_store, bindings, permissions = TaskStore(ctx), Bindings(ctx), Permissions(ctx)
        mentions = Mentions(ctx)
        rules = Rules(ctx, task_store)
        status_changes = StatusChanges(ctx, task_store, rules)
        creation = Creation(ctx, task_store, rules)
        service = SqlTaskService(ctx, task_store, rules, status_changes, creation, bindings)
        requests = Requests(ctx, task_store, status_changes)
        work = TaskWork(ctx, task_store, bindings)
        self._tools = TaskTools(ctx, service, task_store, rules, status_changes, creation, bindings)
        self._reporting = Reporting(ctx, task_store, rules, status_changes, bindings)
        self._requests = RequestTools(ctx, creation, requests, permissions)
        editing = Editing(ctx, task_store, bindings, creation)
        self._chat = ChatTools(
            ctx, service, task_store, rules, status_changes, editing, permissions, mentions
        )
        finishing = Finishing(ctx, task_store, bindings)
        overview = Overview(ctx, service, bindings)
        self._for_people = task_store, creation, editing, status_changes, requests, finishing
        self._for_reading = task_store, service, overview
        self._left = Leaving(ctx, service, editing)
        self._next = NextAction(ctx, work)
        self._session_watch = SessionWatch(ctx, bindings)
        self._work, self._pending = work, requests
        self._waits = TaskWaits(ctx, task_store)
        ctx.services.provide(TASKS, service)
        ctx.services.provide(OVERVIEW, overview)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own tasks, their history, and who works on them."""
        return MIGRATIONS

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget keys and bindings of long ago; tasks stay."""
        return retention_rules(self.ctx.config)

    @hookimpl
    def aipm_session_observers(self) -> Iterable[SessionObserver]:
        """Give sessions their tasks, and take them back."""
        watch = self._session_watch
        yield SessionObserver(
            name="tasks",
            purpose_for=watch.purpose_for,
            opened=watch.opened,
            closed=watch.closed,
        )

    @hookimpl
    def aipm_project_observers(self) -> Iterable[ProjectObserver]:
        """Take the open tasks of those who leave a project."""
        yield ProjectObserver(name="tasks", left=self._left.left)

    @hookimpl
    def aipm_work_sources(self) -> Iterable[WorkSource]:
        """Give task sessions their next step."""
        work = self._work
        yield WorkSource(
            name="tasks",
            purpose="task",
            rank=50,
            topics=work.topics,
            look=work.look,
            needs=work.needs,
            take=work.take,
            waits=self._waits.waits,
        )

    @hookimpl
    def aipm_decisions(self) -> Iterable[DecisionSource]:
        """Ask people about task requests."""
        pending = self._pending
        yield DecisionSource(name="task_requests", pending=pending.pending, answer=pending.answer)

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer everything agents do with tasks."""
        yield tool(
            self._next.get_next_action,
            access=Access.SESSION,
            deadline=MAX_WAIT_SECONDS + 15,
            in_process=False,
            traits=(Trait.WAITS,),
        )
        yield tool(self._tools.get_my_task, access=Access.SESSION, read_only=True)
        yield tool(self._tools.list_tasks, access=Access.SESSION, read_only=True)
        yield tool(self._tools.create_task, access=Access.TASK)
        yield tool(self._tools.update_task_status, access=Access.TASK)
        yield tool(self._reporting.report_completed, access=Access.TASK, traits=(Trait.WAY_OUT,))
        yield tool(self._requests.request_task, access=Access.SESSION)
        yield tool(self._requests.approve_task_request, access=Access.MANAGER)
        yield tool(self._requests.reject_task_request, access=Access.MANAGER)
        yield tool(self._chat.update_task_from_chat, access=Access.CHAT, destructive=True)
        yield tool(self._chat.notify_task_session, access=Access.CHAT)

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Offer everything people do with tasks."""
        from aipm_tasks.tools.people import PeoplesTools
        from aipm_tasks.tools.people_reading import PeoplesReading

        yield from PeoplesTools(self.ctx, *self._for_people).all()
        yield from PeoplesReading(self.ctx, *self._for_reading).all()

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        """Show the tasks."""
        yield TaskView().view()

    @hookimpl(optionalhook=True)
    def aipm_view_fields(self) -> Iterable[ViewFields]:
        """Say how many tasks a project has, and which one a session works on."""
        return TaskFields().all()

    @hookimpl(optionalhook=True)
    def aipm_inbox_items(self) -> Iterable[InboxSource]:
        """Wait for people who may approve, and for people a block names."""
        yield PendingRequests(self.ctx).source()
        yield BlockedTasks(self.ctx).source()

    @hookimpl(optionalhook=True)
    def aipm_activity(self) -> Iterable[ActivitySource]:
        """Tell what happened to tasks."""
        yield TaskHistory().source()

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Free the tasks of sessions that fell silent."""
        yield Lifespan(name="task_leases", open=self._leases)

    def _leases(self) -> AbstractAsyncContextManager[None]:
        hooks = TaskHooks
        self.ctx.check_names(hooks.aipm_task_permissions, hooks.aipm_conversation_sources)
        return self._session_watch.lifespan()
