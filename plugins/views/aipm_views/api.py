"""What other plugins may know about views: how to give one, and how to add to the inbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from aipm_core import Json, Reader, ServiceKey, hookspec
from aipm_views.markdown import markdown_tree

__all__ = [
    "INBOX_NOTES",
    "VIEWS",
    "Activity",
    "ActivitySource",
    "Ids",
    "InboxItem",
    "InboxNotes",
    "InboxSource",
    "ItemAction",
    "Level",
    "ProjectViews",
    "Record",
    "Snapshot",
    "View",
    "ViewChange",
    "ViewFields",
    "ViewHooks",
    "markdown_tree",
]

Ids: TypeAlias = frozenset[str] | None
"""Which records are asked for; ``None`` is all of them."""
Level: TypeAlias = Literal["CRITICAL", "WARN", "INFO"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a view. Without ``viewers`` every member of the project sees it.

    ``data`` is ``None`` for a record that is gone though nobody asked for its id. Records of one id
    may differ by viewer: then there is one for each.
    """

    id: str
    data: Mapping[str, Json] | None
    viewers: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A named set of records of each project.

    ``topics`` are patterns of what ``tx.wake`` is told when a record changes: ``{project}`` stands
    for the project's id, ``{id}`` for a record's, ``{}`` for anything. Without ``{id}`` the whole
    view is read again. ``read`` returns the records of a project with these ids, or all of them;
    an id it leaves out is gone. It must look at nothing but what is stored.
    """

    name: str
    topics: tuple[str, ...]
    read: Callable[[Reader, str, Ids], Awaitable[Iterable[Record]]]

    @classmethod
    def fixed(cls, name: str, records: Mapping[str, Mapping[str, Json]]) -> View:
        """Return a view that changes with the settings only: the same records in every project."""

        async def read(db: Reader, project_id: str, ids: Ids) -> list[Record]:
            return [Record(id=id_, data=data) for id_, data in records.items()]

        return cls(name=name, topics=(), read=read)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewFields:
    """Fields that another plugin adds to the records of a view.

    ``read`` returns them by record id; in ``topics`` ``{id}`` is that id.
    """

    view: str
    name: str
    topics: tuple[str, ...]
    read: Callable[[Reader, str, frozenset[str]], Awaitable[Mapping[str, Mapping[str, Json]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAction:
    """What a person can do about an item: a tool, with its arguments as far as they are known."""

    name: str
    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """Something that waits for each of ``persons``; their first answer is for all.

    ``personal`` says that nobody else can answer, so that it cannot be handed over. ``more`` holds
    the fields that items of its kind have besides.
    """

    id: str
    kind: str
    since: str
    persons: frozenset[str]
    title: str
    detail: str = ""
    level: Level = "INFO"
    agent_id: str | None = None
    task_id: str | None = None
    deadline: str | None = None
    actions: tuple[ItemAction, ...] = ()
    personal: bool = False
    more: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxSource:
    """A plugin for which people are waited for.

    ``items`` returns everything that waits in a project. ``topics`` are patterns as those of a
    view; a change of the project's members is looked at in any case.
    """

    name: str
    topics: tuple[str, ...]
    items: Callable[[Reader, str], Awaitable[Iterable[InboxItem]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Somebody did something to something."""

    id: str
    at: str
    actor_id: str | None
    verb: str
    what: str = ""
    view: str | None = None
    ref: str | None = None
    """The record it was done to, in that view."""
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySource:
    """A plugin that remembers what was done; ``recent`` returns the newest so many."""

    name: str
    topics: tuple[str, ...]
    recent: Callable[[Reader, str, int], Awaitable[Iterable[Activity]]]


class ViewHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_views(self) -> Iterable[View]:
        """What people see of a project, live. A name is given once."""
        return ()

    @hookspec
    def aipm_view_fields(self) -> Iterable[ViewFields]:
        """Fields added to the records of another plugin's view. A name is given once."""
        return ()

    @hookspec
    def aipm_inbox_items(self) -> Iterable[InboxSource]:
        """What waits for people. A name is given once."""
        return ()

    @hookspec
    def aipm_activity(self) -> Iterable[ActivitySource]:
        """What was done lately. A name is given once."""
        return ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one person sees of a project at one moment: records by view and id."""

    cursor: str
    views: dict[str, dict[str, Json]]


@dataclass(frozen=True, slots=True)
class ViewChange:
    """One record is another than before; ``None`` when it is gone."""

    cursor: str
    view: str
    id: str
    record: Json


class ProjectViews(Protocol):
    """The views for code in the same process. Who may ask is the caller's business."""

    async def snapshot(self, project_id: str, person_id: str) -> Snapshot:
        """Return everything a person sees now."""
        ...

    async def changes_after(
        self, project_id: str, person_id: str, cursor: str
    ) -> list[ViewChange] | None:
        """Return what came after a cursor; ``None`` if it is not known any more."""
        ...

    async def read_anew(self, project_id: str, person_id: str) -> dict[str, dict[str, Json]]:
        """Return what the views say now without anything that was kept: slow, for tests."""
        ...


class InboxNotes(Protocol):
    """What a person can do with an item without answering it."""

    async def snooze(self, person_id: str, project_id: str, item_id: str, until: str) -> None:
        """Put an item off until a moment; it stays in the inbox, and says so."""
        ...

    async def hand_over(
        self, person_id: str, project_id: str, item_id: str, to: str, note: str | None = None
    ) -> None:
        """Leave an item to another person of the project."""
        ...


VIEWS = ServiceKey[ProjectViews]("views.views")
INBOX_NOTES = ServiceKey[InboxNotes]("views.inbox_notes")
