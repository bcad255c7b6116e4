"""Markers: a chat session acts on tasks only when a message asks for it."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_file_chat.api import CHAT
from aipm_sessions.api import DIRECTORY, GUIDANCE
from aipm_tasks.api import CONSENTS, TASK_DESK

from aipm_core import Authorizer, Migration, Plugin, PluginContext, hookimpl
from aipm_markers.config import MarkersConfig
from aipm_markers.grammar import Grammar
from aipm_markers.guard import Guard
from aipm_markers.register import Register
from aipm_markers.reports import Reports
from aipm_markers.tables import MIGRATIONS


class Markers(Plugin[MarkersConfig]):
    """One marker in the newest message authorises one call."""

    config_model = MarkersConfig
    requires = (CHAT, DIRECTORY, GUIDANCE)
    uses = (CONSENTS, TASK_DESK)

    def __init__(self, ctx: PluginContext[MarkersConfig]) -> None:
        super().__init__(ctx)
        chat = ctx.services.use(CHAT)
        self._guard = Guard(ctx, chat)
        desk = ctx.services.find(TASK_DESK)
        reports = Reports(ctx, chat, ctx.services.use(DIRECTORY), desk) if desk else None
        chat.observe(Register(ctx, Grammar(ctx.config.commands), reports))
        if (consents := ctx.services.find(CONSENTS)) is not None:
            consents.ask(self._guard)
        for text in self._instructions(reports=reports is not None):
            ctx.services.use(GUIDANCE).add("chat", text)

    def _instructions(self, *, reports: bool) -> Iterable[str]:
        texts = self.ctx.texts
        yield texts("instructions.commands")
        if reports:
            yield texts("instructions.reports")
        for word, action in self.ctx.config.commands.items():
            yield texts("instructions.word", word=word, action=action)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own the markers."""
        return MIGRATIONS

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Refuse early what no message asks for."""
        yield Authorizer(name="marker", check=self._guard.check)
