"""Markers: a chat session acts on tasks only when a message asks for it."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_file_chat.api import CHAT, MessageObserver
from aipm_sessions.api import DIRECTORY, Instruction
from aipm_tasks.api import TASKS, TaskPermission

from aipm_core import Authorizer, Migration, Plugin, PluginContext, hookimpl
from aipm_markers.config import MarkersConfig
from aipm_markers.grammar import Grammar
from aipm_markers.guard import MarkerGuard
from aipm_markers.register import Register
from aipm_markers.reports import Reports
from aipm_markers.tables import MIGRATIONS


class Markers(Plugin[MarkersConfig]):
    """One marker in the newest message a session has read authorises one call."""

    config_model = MarkersConfig
    requires = (CHAT, DIRECTORY)
    uses = (TASKS,)

    def __init__(self, ctx: PluginContext[MarkersConfig]) -> None:
        super().__init__(ctx)
        chat = ctx.services.use(CHAT)
        self._guard = MarkerGuard(ctx, chat)
        tasks = ctx.services.find(TASKS)
        reports = Reports(ctx, chat, ctx.services.use(DIRECTORY), tasks) if tasks else None
        self._register = Register(ctx, Grammar(ctx.config.commands), reports)
        self._reporting = reports is not None

    @hookimpl
    def aipm_instructions(self) -> Iterable[Instruction]:
        """Tell chat sessions which commands there are."""
        return [Instruction(purpose="chat", text=text) for text in self._texts()]

    def _texts(self) -> Iterable[str]:
        texts = self.ctx.texts
        yield texts("instructions.commands")
        if self._reporting:
            yield texts("instructions.reports")
        for word, action in self.ctx.config.commands.items():
            yield texts("instructions.word", word=word, action=action)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own the markers."""
        return MIGRATIONS

    @hookimpl
    def aipm_message_observers(self) -> Iterable[MessageObserver]:
        """Read the markers of every message."""
        yield MessageObserver(name="markers", stored=self._register.stored)

    @hookimpl(optionalhook=True)
    def aipm_task_permissions(self) -> Iterable[TaskPermission]:
        """Spend the marker with the call it permits."""
        yield TaskPermission(name="marker", spend=self._guard.spend)

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Refuse early what no message asks for."""
        yield Authorizer(name="marker", check=self._guard.check)
