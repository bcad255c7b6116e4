"""Writes docs/demo.svg: what a terminal shows when ``aipm demo`` runs.

``python tools/demo_picture.py`` runs the demo and draws it, ``--check`` says whether the picture
still tells the same story. The ids of one run are replaced, so that two runs draw the same picture.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

from aipm_demo.output import Step, heading, line
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"
AIPM = Path(sys.executable).with_name("aipm")
WIDTH = 92
THEME = TerminalTheme(
    (13, 17, 23),
    (201, 209, 217),
    [
        *((72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)),
        *((88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)),
    ],
    [
        *((110, 118, 129), (255, 161, 152), (86, 211, 100), (227, 179, 65)),
        *((121, 192, 255), (210, 168, 255), (86, 212, 221), (255, 255, 255)),
    ],
)
# Rich's own frame, but with the fonts of the reader: a picture loads nothing from elsewhere.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {terminal_width} @HEIGHT@" xmlns="http://www.w3.org/2000/svg"
 role="img" aria-label="aipm demo in a terminal">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px;
}}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath></defs>
<rect fill="#0d1117" x="0" y="0" width="{terminal_width}" height="@HEIGHT@" rx="8"/>
<g transform="translate({terminal_x}, 12)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
_LINE_HEIGHT = 24.4  # rich's own
_ID = re.compile(r"\b([a-z]{3,4})_[a-z0-9]{6,}\b")


def story() -> list[Step]:
    """Run the demo and return what happened."""
    done = subprocess.run(  # noqa: S603 - our own program
        [AIPM, "demo", "--fast", "--json"], capture_output=True, text=True, check=True
    )
    return [_step(json.loads(told)) for told in done.stdout.splitlines()]


def _step(told: dict[str, str]) -> Step:
    detail = _ID.sub(r"\1_7k2m9x", told.get("detail", ""))
    return Step(told["act"], told["who"], told["text"], detail)


def draw(steps: list[Step]) -> str:
    """Draw the story as a terminal would show it."""
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    console.print(Text.assemble(("$ ", "dim"), ("aipm demo", "bold")))
    act = ""
    for step in steps:
        if step.act != act:
            act = step.act
            console.print(heading(act))
        console.print(line(step), overflow="ellipsis", no_wrap=True)
    rows = 1 + len(steps) + len({step.act for step in steps})
    frame = FRAME.replace("@HEIGHT@", str(round(rows * _LINE_HEIGHT + 28)))
    drawn = console.export_svg(theme=THEME, code_format=frame, unique_id="aipm-demo")
    unclipped = re.sub(r' clip-path="url\(#aipm-demo-line-\d+\)"', "", drawn)
    return "".join(f"{row.rstrip()}\n" for row in unclipped.splitlines())


def words(picture: str) -> list[str]:
    """Return what stands in a picture; how it is drawn may change with rich."""
    rows = re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    return " ".join(unescape(row) for row in rows).split()


def main(arguments: list[str]) -> int:
    """Draw the picture, or say whether it is stale."""
    wanted = draw(story())
    if "--check" in arguments:
        if PICTURE.is_file() and words(PICTURE.read_text(encoding="utf-8")) == words(wanted):
            return 0
        sys.stderr.write("docs/demo.svg is stale; `make docs` draws it anew\n")
        return 1
    PICTURE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
