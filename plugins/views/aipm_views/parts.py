"""Everything that is given to the views, in one form: parts that are read and compared alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, partial

from aipm_sessions.api import DIRECTORY

from aipm_core import Json, Owned, PluginContext, PluginError, Reader
from aipm_views.activity import recent_activity
from aipm_views.api import Ids, Record, View, ViewFields, ViewHooks
from aipm_views.config import ViewsConfig
from aipm_views.inbox import INBOX_TOPICS, InboxReader
from aipm_views.topics import TopicPattern

INBOX, ACTIVITY = "inbox", "activity"


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Part:
    """Records of one view that come from one source, and what tells that they have changed."""

    view: str
    name: str
    plugin: str
    patterns: tuple[TopicPattern, ...]
    read: Callable[[Reader, str, Ids], Awaitable[Iterable[Record]]]
    whole: bool = False
    """Whether it is always read as a whole."""


class Parts:
    """All parts of all views. They are known once all plugins are built."""

    def __init__(self, ctx: PluginContext[ViewsConfig]) -> None:
        self._ctx = ctx

    def check(self) -> None:
        """Refuse names given twice, and patterns that cannot be read."""
        hooks = ViewHooks
        self._ctx.check_names(
            hooks.aipm_views,
            hooks.aipm_view_fields,
            hooks.aipm_inbox_items,
            hooks.aipm_activity,
        )
        for owned in self._ctx.given(hooks.aipm_views):
            if owned.record.name in (INBOX, ACTIVITY):
                raise PluginError(owned.plugin, f"the view {owned.record.name!r} has its own hook")
        _ = self.all  # patterns are read now

    @cached_property
    def all(self) -> tuple[Part, ...]:
        """Return every part."""
        return (*self._views(), *self._inbox(), self._activity())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the views."""
        return tuple(dict.fromkeys((*(part.view for part in self.all), INBOX)))

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the first words of the topics that matter."""
        return frozenset(self._by_word)

    @cached_property
    def _by_word(self) -> Mapping[str, list[tuple[TopicPattern, Part]]]:
        found: dict[str, list[tuple[TopicPattern, Part]]] = defaultdict(list)
        for part in self.all:
            for pattern in part.patterns:
                found[pattern.first].append((pattern, part))
        return found

    def touched(
        self, topics: Iterable[str], projects: AbstractSet[str]
    ) -> dict[tuple[str, Part], Ids]:
        """Return which parts of which projects have to be read again, and which records."""
        found: dict[tuple[str, Part], Ids] = {}
        for topic in topics:
            for pattern, part in self._by_word.get(topic.partition(":")[0], ()):
                touch = pattern.match(topic)
                if touch is None:
                    continue
                ids = None if touch.id is None or part.whole else frozenset((touch.id,))
                named = projects if touch.project_id is None else {touch.project_id} & projects
                for project_id in named:
                    before = found.get((project_id, part), frozenset())
                    found[project_id, part] = _union(before, ids)
        return found

    def _views(self) -> Iterable[Part]:
        more: dict[str, list[Owned[ViewFields]]] = defaultdict(list)
        for fields in self._ctx.given(ViewHooks.aipm_view_fields):
            more[fields.record.view].append(fields)
        for owned in self._ctx.given(ViewHooks.aipm_views):
            part = _part(owned.plugin, owned.record.name, owned.record)
            yield _with_fields(part, more[part.view])

    def _inbox(self) -> Iterable[Part]:
        directory = self._ctx.services.use(DIRECTORY)
        for owned in self._ctx.given(ViewHooks.aipm_inbox_items):
            source = owned.record
            yield Part(
                view=INBOX,
                name=source.name,
                plugin=owned.plugin,
                patterns=_patterns(owned.plugin, (*source.topics, *INBOX_TOPICS)),
                read=InboxReader(source, directory).read,
                whole=True,
            )

    def _activity(self) -> Part:
        sources = self._ctx.given(ViewHooks.aipm_activity)
        return Part(
            view=ACTIVITY,
            name=ACTIVITY,
            plugin=self._ctx.name,
            patterns=tuple(
                pattern
                for owned in sources
                for pattern in _patterns(owned.plugin, owned.record.topics)
            ),
            read=partial(recent_activity, [owned.record for owned in sources]),
            whole=True,
        )


def _union(some: Ids, more: Ids) -> Ids:
    return None if some is None or more is None else some | more


def _part(plugin: str, name: str, view: View) -> Part:
    patterns = _patterns(plugin, view.topics)
    return Part(view=view.name, name=name, plugin=plugin, patterns=patterns, read=view.read)


def _patterns(plugin: str, topics: Iterable[str]) -> tuple[TopicPattern, ...]:
    try:
        return tuple(TopicPattern(topic) for topic in topics)
    except ValueError as error:
        raise PluginError(plugin, str(error)) from error


def _with_fields(part: Part, more: list[Owned[ViewFields]]) -> Part:
    if not more:
        return part

    async def read(db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        records = list(await part.read(db, project_id, ids))
        there = frozenset(record.id for record in records if record.data is not None)
        added = [await owned.record.read(db, project_id, there) for owned in more]
        return [_joined(record, added) for record in records]

    patterns = [p for owned in more for p in _patterns(owned.plugin, owned.record.topics)]
    return replace(part, patterns=(*part.patterns, *patterns), read=read)


def _joined(record: Record, added: list[Mapping[str, Mapping[str, Json]]]) -> Record:
    if record.data is None:
        return record
    data = dict(record.data)
    for fields in added:
        data |= fields.get(record.id, {})
    return replace(record, data=data)
