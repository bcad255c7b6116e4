"""Views: what people see of a project, as a state and a stream that always agree."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_http_server.api import Route
from aipm_operations.api import REDACTION, Retention
from aipm_sessions.api import DECISIONS, DIRECTORY, PEOPLE

from aipm_core import AnyTool, Lifespan, Migration, Plugin, PluginContext, ServeMode, hookimpl
from aipm_views.api import INBOX_NOTES, VIEWS, ViewHooks
from aipm_views.config import ViewsConfig
from aipm_views.in_process import InProcessViews
from aipm_views.inbox_notes import PersonalNotes
from aipm_views.marks import Marks
from aipm_views.parts import Parts
from aipm_views.projector import Projector
from aipm_views.records import Records
from aipm_views.retention import lives
from aipm_views.routes import Routes
from aipm_views.state import StateReader
from aipm_views.stream import Streams
from aipm_views.tables import MIGRATIONS


class Views(Plugin[ViewsConfig]):
    """Keeps what people see, and who may see it."""

    config_model = ViewsConfig
    hooks = ViewHooks
    requires = (DECISIONS, DIRECTORY, PEOPLE)
    provides = (VIEWS, INBOX_NOTES)
    uses = (REDACTION,)

    def __init__(self, ctx: PluginContext[ViewsConfig]) -> None:
        super().__init__(ctx)
        self._parts = parts = Parts(ctx)
        self._marks = marks = Marks(parts)
        self._projector = Projector(ctx, parts, marks, Records(ctx.clock))
        reader = StateReader(ctx, parts, self._projector)
        streams = Streams(ctx, reader, self._projector)
        self._routes = Routes(ctx, self._projector, reader, streams)
        views = InProcessViews(ctx, parts, self._projector, reader)
        ctx.services.provide(VIEWS, views)
        self._notes = PersonalNotes(ctx, self._projector, reader)
        ctx.services.provide(INBOX_NOTES, self._notes)

    def check_given(self) -> None:
        """Refuse names given twice; from now on no change of a view goes by unmarked."""
        self._parts.check()
        self.ctx.store.note_wakes(self._marks.note)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own the records, their changes, and notes about inbox items."""
        return MIGRATIONS

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget changes that no reader can be behind, and records that nobody looks at."""
        return lives(self.ctx.config)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Follow what changes while people may be looking."""
        served = frozenset({ServeMode.SERVER})
        yield Lifespan(name="views", open=self._projector.lifespan, serving=served)

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Let people put items off and leave them to others."""
        from aipm_views.people_tools import PeoplesTools

        return PeoplesTools(self.ctx, self._notes).all()

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Offer projects, state and stream to people."""
        return self._routes.all()
