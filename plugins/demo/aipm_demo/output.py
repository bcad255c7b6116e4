"""Who tells what happens: a panel for people, JSON lines for machines."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

_REMEMBERED = 14


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened."""

    act: str
    who: str
    text: str
    detail: str = ""


class Narrator(Protocol):
    """Told every step; may take its time over it."""

    def tell(self, step: Step) -> None:
        """Show one step."""
        ...

    def state(self, who: str, doing: str) -> None:
        """Show what somebody is doing now."""
        ...


class JsonNarrator:
    """One JSON object a line."""

    def tell(self, step: Step) -> None:
        """Print the step."""
        line = {"event": "step", "act": step.act, "who": step.who, "text": step.text}
        line |= {"detail": step.detail} if step.detail else {}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def state(self, who: str, doing: str) -> None:
        """Say nothing: machines get the steps."""


def heading(act: str) -> Text:
    """Show that an act begins."""
    from rich.text import Text

    return Text(f"── {act} ", style="bold cyan")


def line(step: Step) -> Text:
    """Show one step on a line of its own."""
    from rich.text import Text

    told = Text.assemble((f"{step.who:>10}  ", "bold green"), step.text)
    if step.detail:
        told.append(f"  {step.detail}", style="dim")
    return told


class PanelNarrator:
    """A live panel: who does what, and what happened last. Without a terminal, plain lines."""

    def __init__(self) -> None:
        from aipm_cli.api import console

        self._console = console()
        self._doing: dict[str, str] = {}
        self._steps: deque[Step] = deque(maxlen=_REMEMBERED)
        self._live: Live | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Keep the panel on the screen for the block, and leave the story behind."""
        if not self._console.is_terminal:
            yield
            return
        from rich.live import Live

        with Live(console=self._console, refresh_per_second=12) as self._live:
            yield
        self._live = None

    def tell(self, step: Step) -> None:
        """Add the step to the story."""
        if self._live is None:
            self._console.print(f"{step.act:<13} {step.who:<10} {step.text}")
            return
        if not self._steps or self._steps[-1].act != step.act:
            self._live.console.print()
            self._live.console.print(heading(step.act))
        self._steps.append(step)
        self._live.console.print(line(step))
        self._live.update(self._panel())

    def state(self, who: str, doing: str) -> None:
        """Change the row of one member of the team."""
        self._doing[who] = doing
        if self._live is not None:
            self._live.update(self._panel())

    def _panel(self) -> Group:
        from rich import box
        from rich.console import Group
        from rich.panel import Panel
        from rich.table import Table

        table = Table(box=None, show_header=False, pad_edge=False)
        for who, doing in self._doing.items():
            table.add_row(who, doing)
        return Group("", Panel(table, title="team", box=box.ROUNDED, width=76))
