"""What docs/road.svg shows: the road of one call, with who stands where on it.

A runtime with all plugins is asked who takes part in a call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import anyio
from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings

from aipm_core.records import Owned

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "road.svg"
WIDTH, ROW, LEFT, BOX, TRUNK = 700, 58, 20, 400, 650
STYLE = """\
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.what { font-weight: 600 } .who { font-size: 12.5px; fill: #59636e }
.own { fill: #f6f8fa; stroke: #d1d9e0 } .plugins { fill: #ddf4ff; stroke: #54aeff }
.end { fill: #dafbe1; stroke: #4ac26b } .way { stroke: #8c959f; fill: none; stroke-width: 1.5 }
.fail { stroke: #cf222e; fill: none; stroke-width: 1.2; stroke-dasharray: 4 3 }
.paper { fill: #ffffff }"""


def steps() -> list[tuple[str, str, str, str]]:
    """Return every step: kind, what happens, who does it, what can go wrong."""

    async def ask() -> list[tuple[str, str, str, str]]:
        with tempfile.TemporaryDirectory() as place:
            settings = Settings(data_dir=Path(place) / "data")
            async with open_runtime(settings) as runtime:
                return _steps(runtime.pipeline)

    return anyio.run(ask)


def _steps(road: Any) -> list[tuple[str, str, str, str]]:  # noqa: ANN401 - the pipeline is private
    by_stage = {stage.name: _who(owned) for stage, owned in road.authorizers.items()}
    return [
        ("end", "request", "MCP over HTTP or stdio, agent loop, user interface", ""),
        ("plugins", "authenticate", _who(road.authenticators), "session_invalid"),
        ("plugins", "GATE", by_stage["GATE"], "the reply is replaced"),
        ("own", "find the tool", "by name", "tool_not_found, tool_disabled"),
        ("own", "access", "any, session, task, chat, manager", "…_required"),
        ("plugins", "RIGHTS: by tool and session", by_stage["RIGHTS"], "refused"),
        ("own", "check the arguments", "closed schema, exact types", "invalid_arguments"),
        ("plugins", "STATE: by what is stored", by_stage["STATE"], "refused"),
        ("plugins", "CONSENT: a person may be asked", by_stage["CONSENT"], "refused"),
        ("plugins", "run the tool", "one transaction: all of it or nothing", "refused"),
        ("plugins", "middleware", _phases(road.middleware), ""),
        ("end", "reply", "one object, as text and as structured content", ""),
    ]


def _who(owned: Iterable[Owned[Any]]) -> str:
    return ", ".join(f"{one.plugin}: {one.record.name}" for one in owned) or "none"


def _phases(owned: Sequence[Owned[Any]]) -> str:
    named = ", ".join(f"{one.plugin}: {one.record.name}" for one in owned)
    return f"ENRICH → GUARD → REPLACE · {named}"


def draw(road: list[tuple[str, str, str, str]]) -> str:
    """Draw the road from top to bottom, failures on their way around the tool."""
    height = ROW * len(road) + 24
    middle = next(n for n, step in enumerate(road) if step[1] == "middleware")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-label="The road of one call">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="8"/>',
    ]
    for number, step in enumerate(road):
        lines += _box(number, *step)
        if step[3]:
            lines += _failure(number, middle, step[3])
    trunk = f"M{TRUNK} {_level(1)}V{_level(middle)}H{LEFT + BOX + 4}"
    return "\n".join([*lines, f'<path class="fail" d="{trunk}"/>', "</svg>", ""])


def _box(number: int, kind: str, what: str, who: str, _: str) -> list[str]:
    top = 16 + number * ROW
    middle = LEFT + BOX // 2
    drawn = [
        f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{BOX}" height="{ROW - 16}" rx="6"/>',
        f'<text class="what" x="{LEFT + 12}" y="{top + 18}">{escape(what)}</text>',
        f'<text class="who" x="{LEFT + 12}" y="{top + 34}">{escape(who)}</text>',
    ]
    if number:
        drawn.append(f'<path class="way" d="M{middle} {top - 16}v14m-4 -5l4 5l4 -5"/>')
    return drawn


def _failure(number: int, middleware: int, code: str) -> list[str]:
    top = _level(number)
    path = f"M{LEFT + BOX} {top}H{TRUNK}"
    if "replaced" in code:  # a gate's text is the whole reply: nothing is added to it
        path = f"M{LEFT + BOX} {top}H{TRUNK + 12}V{_level(middleware + 1)}H{LEFT + BOX + 4}"
    return [
        f'<path class="fail" d="{path}"/>',
        f'<text class="who" x="{LEFT + BOX + 14}" y="{top - 6}">{escape(code)}</text>',
    ]


def _level(number: int) -> int:
    return 16 + number * ROW + (ROW - 16) // 2
