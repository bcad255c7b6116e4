"""What other plugins may use of the page: the hook for panels, and the records they are made of.

A panel is declared, never scripted: the page draws records of a view of the plugin's own, or a form
that calls one of its tools in the person's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aipm_core import hookspec

Words: TypeAlias = str | Mapping[str, str]
"""A text, or one for each language: ``{"ja": …, "en": …}``."""

Slot: TypeAlias = Literal["plugins", "agents", "activity"]
Kind: TypeAlias = Literal["table", "stat", "list", "timeline", "form", "markdown"]
Shows: TypeAlias = Literal["text", "number", "time", "member", "task", "share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of a view's records and how it is shown."""

    field: str
    label: Words = ""
    shows: Shows = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of the page that belongs to a plugin.

    ``table``, ``list``, ``timeline`` (its first column is the time) and ``stat`` (of the first
    record) show ``columns`` of a ``view``; ``markdown`` a tree in the first column; ``form`` asks
    for the arguments of ``tool``.
    """

    name: str
    title: Words
    kind: Kind
    slot: Slot = "plugins"
    view: str = ""
    columns: tuple[Column, ...] = ()
    sort_by: str = ""
    newest_first: bool = False
    tool: str = ""

    def __post_init__(self) -> None:
        """Refuse a panel that could show nothing."""
        if self.kind == "form":
            if not self.tool:
                raise ValueError(f"panel {self.name!r}: a form needs a tool")
        elif not self.view or not self.columns:
            raise ValueError(f"panel {self.name!r}: a {self.kind} needs a view and columns")


class PageHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_panels(self) -> Iterable[Panel]:
        """What a plugin shows on the page, in a named slot."""
        return ()
