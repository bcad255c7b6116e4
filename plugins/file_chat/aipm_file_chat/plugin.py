"""Chat: messages in the store, and files that follow them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

from aipm_http_server.api import Route
from aipm_notifications.api import INBOX
from aipm_operations.api import METRICS, HealthCheck
from aipm_sessions.api import DIRECTORY, INSTRUCTIONS, ProjectObserver, WorkSource
from aipm_tasks.api import TASKS
from aipm_views.api import InboxSource, View

from aipm_core import (
    Access,
    AnyTool,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    ServiceKey,
    Trait,
    hookimpl,
    tool,
)
from aipm_file_chat.api import CHAT, CHAT_FILES, FileChatHooks
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.consistency_check import ConsistencyCheck
from aipm_file_chat.corrections import Corrections
from aipm_file_chat.history import History
from aipm_file_chat.message_store import MessageStore
from aipm_file_chat.people import PeoplesChat
from aipm_file_chat.projection import Projection
from aipm_file_chat.reading import Reading, UnreadMessages
from aipm_file_chat.routes import Routes
from aipm_file_chat.search import MessageSearch
from aipm_file_chat.sending import Sending
from aipm_file_chat.tables import MIGRATIONS
from aipm_file_chat.validation import MessageValidation
from aipm_file_chat.views import ChatView, UnreadItems

PEOPLES_CHAT = ServiceKey[PeoplesChat]("file_chat.people")
CORRECTIONS = ServiceKey[Corrections]("file_chat.corrections")


class FileChat(Plugin[FileChatConfig]):
    """Messages between the members of a project, also kept in files agents can read."""

    config_model = FileChatConfig
    provides = (CHAT, CHAT_FILES, PEOPLES_CHAT, CORRECTIONS)
    hooks = FileChatHooks
    requires = (DIRECTORY, INSTRUCTIONS)
    uses = (INBOX, METRICS, TASKS)

    def __init__(self, ctx: PluginContext[FileChatConfig]) -> None:
        super().__init__(ctx)
        directory = ctx.services.use(DIRECTORY)
        self._projection = Projection(ctx, directory)
        validation = MessageValidation(ctx, directory, self._projection, ctx.services.find(TASKS))
        message_store = MessageStore(ctx, validation, self._projection, ctx.services.find(INBOX))
        self._sending = Sending(ctx, message_store, validation, directory)
        self._reading = Reading(ctx, message_store, directory, ctx.services.use(INSTRUCTIONS))
        self._search = MessageSearch(ctx)
        self._history = History(ctx, self._reading, self._search)
        self._consistency = ConsistencyCheck(ctx, directory, self._projection)
        people = PeoplesChat(ctx, directory, validation, message_store, self._history)
        corrections = Corrections(ctx, message_store, validation, self._history)
        self._for_people = people, self._sending, self._history, corrections
        self._routes = Routes(ctx)
        self._unread = UnreadMessages(ctx, directory)
        ctx.services.provide(CHAT, message_store)
        ctx.services.provide(CHAT_FILES, self._consistency)
        ctx.services.provide(PEOPLES_CHAT, people)
        ctx.services.provide(CORRECTIONS, corrections)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own messages and the outbox."""
        return MIGRATIONS

    @hookimpl
    def aipm_project_observers(self) -> Iterable[ProjectObserver]:
        """Write the files of a project where it has moved to."""
        yield ProjectObserver(name="chat_files", moved=self._projection.moved)

    @hookimpl
    def aipm_work_sources(self) -> Iterable[WorkSource]:
        """Give chat sessions messages to read."""
        unread = self._unread
        yield WorkSource(
            name=unread.name,
            purpose="chat",
            rank=20,
            topics=unread.topics,
            look=unread.look,
            needs=unread.needs,
        )

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer to send and to read."""
        talks = (Trait.TALKS,)
        yield tool(self._sending.send_message, access=Access.SESSION, traits=talks)
        yield tool(self._sending.broadcast_message, access=Access.SESSION, traits=talks)
        yield tool(self._sending.respond_chat, access=Access.CHAT, in_process=False, traits=talks)
        yield tool(
            self._reading.get_pending_messages, access=Access.CHAT, in_process=False, traits=talks
        )

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Offer people to write, to read and to search."""
        from aipm_file_chat.people_tools import PeoplesTools

        return PeoplesTools(self.ctx, *self._for_people).all()

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Keep the files and the search index in step with the store."""
        yield Lifespan(name="chat_files", open=self._files)
        yield Lifespan(name="chat_search", open=self._search.lifespan)

    def _files(self) -> AbstractAsyncContextManager[None]:
        hooks = FileChatHooks
        self.ctx.check_names(hooks.aipm_message_observers, hooks.aipm_pending_fields)
        return self._projection.lifespan()

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Offer chat to people."""
        return self._routes.all()

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        """Show where there is something new to read."""
        yield ChatView(self.ctx).view()

    @hookimpl(optionalhook=True)
    def aipm_inbox_items(self) -> Iterable[InboxSource]:
        """Wait for people who have not read what an agent wrote to them."""
        yield UnreadItems(self.ctx).source()

    @hookimpl
    def aipm_health_checks(self) -> Iterable[HealthCheck]:
        """Compare the files with the store."""
        yield HealthCheck(
            name="chat_files",
            check=self._consistency.check,
            repair=self._consistency.rebuild,
            flag="rebuild-chat",
            deadline=300.0,
        )
