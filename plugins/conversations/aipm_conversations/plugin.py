"""Conversations: agents of a project take turns until one of them, or a limit, ends it."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_file_chat.api import CHAT
from aipm_sessions.api import SESSION_DESK, WORK_BOARD

from aipm_conversations.api import CONVERSATIONS
from aipm_conversations.archive import Archive
from aipm_conversations.book import Book
from aipm_conversations.config import ConversationsConfig
from aipm_conversations.endings import Watch
from aipm_conversations.tables import MIGRATIONS
from aipm_conversations.talk import Talk
from aipm_conversations.work import Endings, Requests
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


class Conversations(Plugin[ConversationsConfig]):
    """Lets chat sessions of two agents converse."""

    config_model = ConversationsConfig
    provides = (CONVERSATIONS,)
    requires = (CHAT, SESSION_DESK, WORK_BOARD)
    offers = (
        "end_conversation",
        "respond_conversation_message",
        "send_conversation_message",
        "start_conversation",
    )

    def __init__(self, ctx: PluginContext[ConversationsConfig]) -> None:
        super().__init__(ctx)
        chat, desk = ctx.services.use(CHAT), ctx.services.use(SESSION_DESK)
        board = ctx.services.use(WORK_BOARD)
        archive = Archive(ctx.clock)
        book = Book(ctx, archive, desk)
        self._talk = Talk(ctx, archive, book, chat, desk)
        self._watch = Watch(ctx, archive, book, desk)
        requests = Requests(ctx, archive, book, chat, desk)
        desk.observe(self._watch)
        chat.extend_pending(requests)
        board.add(requests)
        board.add(Endings(ctx, archive, book))
        ctx.services.provide(CONVERSATIONS, archive)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own the conversations."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the four ways to take part."""
        yield tool(self._talk.start_conversation, access=Access.CHAT)
        yield tool(self._talk.send_conversation_message, access=Access.CHAT)
        yield tool(self._talk.respond_conversation_message, access=Access.CHAT)
        yield tool(self._talk.end_conversation, access=Access.CHAT)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """End what stands still."""
        yield Lifespan(name="conversation_upkeep", open=self._watch.lifespan)
