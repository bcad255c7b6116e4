"""Delegation: task sessions work, chat sessions talk, and one hands over to the other."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_conversations.api import CONVERSATIONS
from aipm_file_chat.api import CHAT
from aipm_notifications.api import INBOX
from aipm_sessions.api import DIRECTORY, SESSION_DESK, WORK_BOARD
from aipm_tasks.api import TASK_DESK

from aipm_core import (
    Access,
    AnyTool,
    Authorizer,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    hookimpl,
    tool,
)
from aipm_delegation.config import DelegationConfig
from aipm_delegation.errands import Errands
from aipm_delegation.leases import Leases
from aipm_delegation.ledger import Ledger
from aipm_delegation.notice import Notice
from aipm_delegation.outcome import LONGEST_WAIT, Outcome
from aipm_delegation.separation import Separation
from aipm_delegation.tables import MIGRATIONS
from aipm_delegation.work import Errand


class Delegation(Plugin[DelegationConfig]):
    """Keeps the two kinds of session apart, and carries wishes from one to the other."""

    config_model = DelegationConfig
    requires = (DIRECTORY, SESSION_DESK, WORK_BOARD)
    uses = (CHAT, CONVERSATIONS, INBOX, TASK_DESK)
    offers = ("delegate_to_chat_session", "get_task_conversations", "report_delegation_completed")

    def __init__(self, ctx: PluginContext[DelegationConfig]) -> None:
        super().__init__(ctx)
        use, find = ctx.services.use, ctx.services.find
        chat, conversations, tasks = find(CHAT), find(CONVERSATIONS), find(TASK_DESK)
        inbox, ledger = find(INBOX), Ledger(ctx)
        notice = Notice(ctx, inbox)
        self._separation = Separation(ctx)
        self._errands = Errands(ctx, ledger, use(SESSION_DESK), use(DIRECTORY), tasks, notice)
        self._outcome = Outcome(ctx, ledger, use(SESSION_DESK), tasks, conversations, chat, inbox)
        self._leases = Leases(ctx, ledger, use(SESSION_DESK), notice)
        errand = Errand(ctx, ledger, use(SESSION_DESK), conversations, chat)
        use(SESSION_DESK).observe(self._leases)
        use(WORK_BOARD).add(errand)
        if chat is not None:
            chat.extend_pending(errand)
        if conversations is not None:
            conversations.resolve_task(errand)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own the delegations."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the way from task to chat, and back."""
        yield tool(self._errands.delegate_to_chat_session, access=Access.TASK)
        yield tool(self._errands.report_delegation_completed, access=Access.CHAT)
        yield tool(
            self._outcome.get_task_conversations,
            access=Access.TASK,
            read_only=True,
            deadline=LONGEST_WAIT + 10,
        )

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Close the talking tools to task sessions."""
        yield Authorizer(name="session_separation", check=self._separation.check, static=True)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Take delegations back from silent sessions."""
        yield Lifespan(name="delegation_leases", open=self._leases.lifespan)
