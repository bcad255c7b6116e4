"""Delegation: task sessions work, chat sessions talk, and one hands over to the other."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_conversations.api import CONVERSATIONS, TaskResolver
from aipm_file_chat.api import CHAT, PendingFields
from aipm_notifications.api import INBOX
from aipm_operations.api import Retention
from aipm_sessions.api import DIRECTORY, SESSIONS, SessionObserver, WorkSource
from aipm_tasks.api import TASKS
from aipm_views.api import View

from aipm_core import (
    Access,
    AnyTool,
    Authorizer,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    Stage,
    hookimpl,
    tool,
)
from aipm_delegation.config import DelegationConfig
from aipm_delegation.delegation_store import DelegationStore
from aipm_delegation.leases import Leases
from aipm_delegation.notice import Notice
from aipm_delegation.retention import retention_rules
from aipm_delegation.separation import Separation
from aipm_delegation.tables import MIGRATIONS
from aipm_delegation.task_conversations import MAX_WAIT_SECONDS, TaskConversations
from aipm_delegation.tools import DelegationTools
from aipm_delegation.views import delegation_view
from aipm_delegation.work import DelegationWork


class Delegation(Plugin[DelegationConfig]):
    """Keeps the two kinds of session apart, and carries wishes from one to the other."""

    config_model = DelegationConfig
    requires = (DIRECTORY, SESSIONS)
    uses = (CHAT, CONVERSATIONS, INBOX, TASKS)

    def __init__(self, ctx: PluginContext[DelegationConfig]) -> None:
        super().__init__(ctx)
        use, find = ctx.services.use, ctx.services.find
        chat, conversations, tasks = find(CHAT), find(CONVERSATIONS), find(TASKS)
        inbox, delegation_store = find(INBOX), DelegationStore(ctx)
        notice = Notice(ctx, inbox)
        self._separation = Separation(ctx)
        self._tools = DelegationTools(
            ctx, delegation_store, use(SESSIONS), use(DIRECTORY), tasks, notice
        )
        self._task_conversations = TaskConversations(
            ctx, delegation_store, use(SESSIONS), tasks, conversations, chat, inbox
        )
        self._leases = Leases(ctx, delegation_store, use(SESSIONS), notice)
        self._work = DelegationWork(ctx, delegation_store, use(SESSIONS), conversations, chat)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own the delegations."""
        return MIGRATIONS

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget delegations that ended long ago."""
        return retention_rules(self.ctx.config)

    @hookimpl
    def aipm_session_observers(self) -> Iterable[SessionObserver]:
        """Take back what an ended session had not finished."""
        yield SessionObserver(name="delegation_leases", closed=self._leases.closed)

    @hookimpl
    def aipm_work_sources(self) -> Iterable[WorkSource]:
        """Give chat sessions what task sessions handed over."""
        work = self._work
        yield WorkSource(
            name=work.name,
            purpose="chat",
            rank=15,
            topics=work.topics,
            look=work.look,
            needs=work.needs,
        )

    @hookimpl(optionalhook=True)
    def aipm_pending_fields(self) -> Iterable[PendingFields]:
        """Hand out delegations with the messages."""
        yield PendingFields(name="delegation", fields=self._work.fields)

    @hookimpl(optionalhook=True)
    def aipm_conversation_tasks(self) -> Iterable[TaskResolver]:
        """Bind conversations to the delegations that ask for them."""
        yield TaskResolver(name="delegation", origin_of=self._work.origin_of)

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        """Show what was handed over."""
        yield delegation_view()

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the way from task to chat, and back."""
        yield tool(self._tools.delegate_to_chat_session, access=Access.TASK)
        yield tool(self._tools.report_delegation_completed, access=Access.CHAT, in_process=False)
        yield tool(
            self._task_conversations.get_task_conversations,
            access=Access.TASK,
            read_only=True,
            deadline=MAX_WAIT_SECONDS + 10,
        )

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Close the talking tools to task sessions."""
        yield Authorizer(
            name="session_separation", check=self._separation.check, stage=Stage.RIGHTS
        )

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Take delegations back from silent sessions."""
        yield Lifespan(name="delegation_leases", open=self._leases.lifespan)
