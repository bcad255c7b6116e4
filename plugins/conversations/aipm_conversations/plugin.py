"""Conversations: agents of a project take turns until one of them, or a limit, ends it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

from aipm_file_chat.api import CHAT, PendingFields
from aipm_sessions.api import SESSIONS, SessionObserver, WorkSource
from aipm_tasks.api import ConversationSource
from aipm_views.api import ActivitySource, View

from aipm_conversations.api import CONVERSATIONS, ConversationHooks
from aipm_conversations.config import ConversationsConfig
from aipm_conversations.queries import ConversationQueries
from aipm_conversations.tables import MIGRATIONS
from aipm_conversations.timeouts import Timeouts
from aipm_conversations.tools import ConversationTools
from aipm_conversations.transitions import Transitions
from aipm_conversations.views import ConversationView
from aipm_conversations.work import EndNotices, Invitations
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


class Conversations(Plugin[ConversationsConfig]):
    """Lets chat sessions of two agents converse."""

    config_model = ConversationsConfig
    provides = (CONVERSATIONS,)
    hooks = ConversationHooks
    requires = (CHAT, SESSIONS)

    def __init__(self, ctx: PluginContext[ConversationsConfig]) -> None:
        super().__init__(ctx)
        chat, sessions = ctx.services.use(CHAT), ctx.services.use(SESSIONS)
        queries = ConversationQueries(ctx)
        transitions = Transitions(ctx, queries, sessions)
        self._tools = ConversationTools(ctx, queries, transitions, chat, sessions)
        self._timeouts = Timeouts(ctx, queries, transitions, sessions)
        self._invitations = Invitations(ctx, queries, transitions, chat, sessions)
        self._end_notices = EndNotices(ctx, queries, transitions)
        self._queries = queries
        ctx.services.provide(CONVERSATIONS, queries)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own the conversations."""
        return MIGRATIONS

    @hookimpl
    def aipm_session_observers(self) -> Iterable[SessionObserver]:
        """Note which side of a conversation is there."""
        timeouts = self._timeouts
        yield SessionObserver(name="conversations", opened=timeouts.opened, closed=timeouts.closed)

    @hookimpl
    def aipm_work_sources(self) -> Iterable[WorkSource]:
        """Give agents conversations to take up, and ends to take note of."""
        invitations, end_notices = self._invitations, self._end_notices
        yield WorkSource(
            name=invitations.name,
            purpose="chat",
            rank=5,
            topics=invitations.topics,
            look=invitations.look,
            needs=invitations.needs,
        )
        yield WorkSource(
            name=end_notices.name,
            purpose="chat",
            rank=10,
            topics=end_notices.topics,
            look=end_notices.look,
            needs=end_notices.needs,
        )

    @hookimpl
    def aipm_pending_fields(self) -> Iterable[PendingFields]:
        """Take notice of conversations when an agent reads its messages."""
        yield PendingFields(name="conversations", fields=self._invitations.fields)

    @hookimpl(optionalhook=True)
    def aipm_conversation_sources(self) -> Iterable[ConversationSource]:
        """Know who takes part in a conversation."""
        yield ConversationSource(name="conversations", takes_part=self._queries.takes_part)

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        """Show who talks with whom."""
        yield ConversationView().view()

    @hookimpl(optionalhook=True)
    def aipm_activity(self) -> Iterable[ActivitySource]:
        """Tell of conversations that start and end."""
        yield ConversationView().activity()

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the four ways to take part."""
        tools, talks = self._tools, (Trait.TALKS,)
        yield tool(tools.start_conversation, access=Access.CHAT, in_process=False, traits=talks)
        yield tool(
            tools.send_conversation_message, access=Access.CHAT, in_process=False, traits=talks
        )
        yield tool(
            tools.respond_conversation_message, access=Access.CHAT, in_process=False, traits=talks
        )
        yield tool(tools.end_conversation, access=Access.CHAT, in_process=False, traits=talks)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """End what stands still."""
        yield Lifespan(name="conversation_upkeep", open=self._upkeep)

    def _upkeep(self) -> AbstractAsyncContextManager[None]:
        self.ctx.check_names(ConversationHooks.aipm_conversation_tasks)
        return self._timeouts.lifespan()
