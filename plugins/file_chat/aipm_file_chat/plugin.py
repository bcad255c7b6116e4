"""Chat: messages in the store, and files that follow them."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_notifications.api import INBOX
from aipm_sessions.api import DIRECTORY, GUIDANCE, PEOPLE, WORK_BOARD

from aipm_core import (
    Access,
    AnyTool,
    HealthCheck,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    Route,
    ServiceKey,
    hookimpl,
    tool,
)
from aipm_file_chat.admission import Admission
from aipm_file_chat.api import CHAT, CHAT_FILES
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.history import History
from aipm_file_chat.inspection import Inspection
from aipm_file_chat.people import PeoplesChat
from aipm_file_chat.post import Post
from aipm_file_chat.projection import Projection
from aipm_file_chat.reading import Reading, UnreadMessages
from aipm_file_chat.routes import Routes
from aipm_file_chat.sending import Sending
from aipm_file_chat.tables import MIGRATIONS

PEOPLES_CHAT = ServiceKey[PeoplesChat]("file_chat.people")


class FileChat(Plugin[FileChatConfig]):
    """Messages between the members of a project, also kept in files agents can read."""

    config_model = FileChatConfig
    provides = (CHAT, CHAT_FILES, PEOPLES_CHAT)
    requires = (DIRECTORY, GUIDANCE, PEOPLE, WORK_BOARD)
    uses = (INBOX,)
    offers = ("broadcast_message", "get_pending_messages", "respond_chat", "send_message")

    def __init__(self, ctx: PluginContext[FileChatConfig]) -> None:
        super().__init__(ctx)
        directory = ctx.services.use(DIRECTORY)
        self._projection = Projection(ctx, directory)
        admission = Admission(ctx, directory, self._projection)
        post = Post(ctx, admission, self._projection, ctx.services.find(INBOX))
        self._sending = Sending(ctx, post, admission, directory)
        self._reading = Reading(ctx, post, directory, ctx.services.use(GUIDANCE))
        self._history = History(ctx, self._reading)
        self._inspection = Inspection(ctx, directory, self._projection)
        people = PeoplesChat(ctx, directory, self._sending, self._history)
        self._routes = Routes(ctx, ctx.services.use(PEOPLE), people, self._history)
        ctx.services.use(WORK_BOARD).add(UnreadMessages(ctx, directory))
        ctx.services.provide(CHAT, post)
        ctx.services.provide(CHAT_FILES, self._inspection)
        ctx.services.provide(PEOPLES_CHAT, people)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own messages and the outbox."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer to send and to read."""
        yield tool(self._sending.send_message, access=Access.SESSION)
        yield tool(self._sending.broadcast_message, access=Access.SESSION)
        yield tool(self._sending.respond_chat, access=Access.CHAT)
        yield tool(self._reading.get_pending_messages, access=Access.CHAT)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Keep the files and the search index in step with the store."""
        yield Lifespan(name="chat_files", open=self._projection.lifespan)
        yield Lifespan(name="chat_search", open=self._history.lifespan)

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Offer chat to people."""
        return self._routes.all()

    @hookimpl
    def aipm_health_checks(self) -> Iterable[HealthCheck]:
        """Compare the files with the store."""
        yield HealthCheck(
            name="chat_files",
            check=self._inspection.check,
            repair=self._inspection.rebuild,
            flag="rebuild-chat",
            deadline=300.0,
        )
