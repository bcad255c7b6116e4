"""Draws bars: one picture, several groups, every bar with its name before and its number behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, NAMES = 760, 150
LONGEST, ALONE = 290, 480  # bars with more than a number behind them, and without
ROW, BAR, GAP, TOP = 24, 14, 20, 66
STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 } .group { font-weight: 600 }
.note, .more { fill: #59636e } .name { text-anchor: end } .mine { font-weight: 600 }
.more { font-weight: 400 }
.paper { fill: #ffffff; stroke: #d1d9e0 } .axis { stroke: #d1d9e0 }
.aipm { fill: #0969da } .bare { fill: #8c959f } .peer { fill: #c4cbd3 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note, .more { fill: #9198a1 }
.paper { fill: #0d1117; stroke: #30363d } .axis { stroke: #30363d }
.aipm { fill: #4493f8 } .bare { fill: #6e7681 } .peer { fill: #484f58 }
}"""


@dataclass(frozen=True)
class Bar:
    """One bar: ``kind`` is its colour, ``more`` what stands behind the number."""

    name: str
    value: float
    label: str
    more: str = ""
    kind: str = "peer"


@dataclass(frozen=True)
class Group:
    """Bars that belong together."""

    title: str
    bars: Sequence[Bar]


def draw(title: str, note: str, groups: Sequence[Group], *, own_scale: bool = False) -> str:
    """Return a picture; with ``own_scale`` the longest bar of each group is as long as can be."""
    heights = [ROW * (len(group.bars) + 1) + GAP for group in groups]
    height = TOP + sum(heights)
    bars = [bar for group in groups for bar in group.bars]
    most = max((bar.value for bar in bars), default=1)
    longest = LONGEST if any(bar.more for bar in bars) else ALONE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="title" x="20" y="30">{escape(title)}</text>',
        f'<text class="note" x="20" y="50">{escape(note)}</text>',
    ]
    top = TOP
    for group, tall in zip(groups, heights, strict=True):
        scale = max((bar.value for bar in group.bars), default=1) if own_scale else most
        lines += _group(group, top, longest / scale if scale > 0 else 0)
        top += tall
    return "\n".join([*lines, "</svg>", ""])


def _group(group: Group, top: int, scale: float) -> list[str]:
    end = top + ROW * (len(group.bars) + 1)
    lines = [
        f'<text class="group" x="20" y="{top + 16}">{escape(group.title)}</text>',
        f'<path class="axis" d="M{NAMES} {top + ROW + 1}V{end - 1}"/>',
    ]
    for number, bar in enumerate(group.bars, start=1):
        lines += _bar(bar, top + ROW * number, scale)
    return lines


def _bar(bar: Bar, top: int, scale: float) -> list[str]:
    length = max(1.5, bar.value * scale)
    mine = " mine" if bar.kind == "aipm" else ""
    after = NAMES + length + 8
    more = f' <tspan class="more">{escape(bar.more)}</tspan>' if bar.more else ""
    middle = top + ROW // 2 + 4
    return [
        f'<text class="name{mine}" x="{NAMES - 8}" y="{middle}">{escape(bar.name)}</text>',
        f'<rect class="{bar.kind}" x="{NAMES}" y="{top + (ROW - BAR) // 2}" '
        f'width="{length:.1f}" height="{BAR}" rx="2"/>',
        f'<text class="value{mine}" x="{after:.1f}" y="{middle}">{escape(bar.label)}{more}</text>',
    ]
