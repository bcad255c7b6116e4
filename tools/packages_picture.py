"""What docs/packages.svg shows: every package, how large it is, and which others it uses.

Read off the imports: a row uses the columns that have a mark. Below the diagonal stands what a
package is built on, so the picture has marks on one side of it only while nothing goes in circles.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL = "aipm_core"
# Command modules and test kits are used from outside; what they import says nothing of the parts.
_ASIDE = {"commands.py", "testing.py", "renderer.py"}
CELL, LEFT, TOP, MARK = 24, 250, 150, 5
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.size { fill: #59636e; font-size: 11.5px } .paper { fill: #ffffff } .line { stroke: #d1d9e0 }
.mark { fill: #0969da } .front { fill: #8c959f } .self { fill: #eaeef2 }"""


def packages() -> dict[str, Path]:
    """Return every package of the program, with its folder."""
    found = {folder.name: folder for folder in sorted(ROOT.glob("plugins/*/aipm_*"))}
    return {KERNEL: ROOT / KERNEL, **{name: path for name, path in found.items() if path.is_dir()}}


def lines_of(folder: Path) -> int:
    """Return how many lines of Python a package has."""
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in folder.rglob("*.py"))


def uses(folder: Path, names: Mapping[str, Path]) -> set[str]:
    """Return the packages that a package imports when it is imported itself."""
    found: set[str] = set()
    for file in folder.rglob("*.py"):
        if file.name in _ASIDE or file.stem.endswith(("_command", "_commands")):
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            module = node.module if isinstance(node, ast.ImportFrom) else None
            found.add((module or "").partition(".")[0])
    return (found & names.keys()) - {folder.name}


def drawn() -> str:
    """Return the picture of the repository as it is."""
    names = packages()
    graph = {name: uses(folder, names) for name, folder in names.items()}
    return draw(graph, {name: lines_of(folder) for name, folder in names.items()})


def order_of(graph: Mapping[str, set[str]]) -> list[str]:
    """Put what is used before what uses it; those in a circle come by name."""
    try:
        sorter = TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)})
        return list(sorter.static_order())
    except CycleError:
        return sorted(graph, key=lambda name: (len(graph[name]), name))


def draw(graph: Mapping[str, set[str]], sizes: Mapping[str, int]) -> str:
    """Draw a row and a column for every package."""
    order = order_of(graph)
    side = CELL * len(order)
    width, height = LEFT + side + 70, TOP + side + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' aria-label="Which package uses which">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
    ]
    for place, name in enumerate(order):
        lines += _labels(place, name, sizes[name], side)
        lines += [_mark(place, order.index(used), used) for used in sorted(graph[name])]
    return "\n".join([*lines, "</svg>", ""])


def _labels(place: int, name: str, size: int, side: int) -> list[str]:
    across, down = LEFT + place * CELL, TOP + place * CELL
    shown = escape(name.removeprefix("aipm_"))
    lines = (
        f"{size / 1000:.1f} k"  # rounded, so that not every line written makes the picture stale
    )
    return [
        f'<rect class="self" x="{across}" y="{down}" width="{CELL}" height="{CELL}"/>',
        f'<path class="line" d="M{LEFT} {down}h{side}M{across} {TOP}v{side}"/>',
        f'<text x="{LEFT - 70}" y="{down + 16}" text-anchor="end">{shown}</text>',
        f'<text class="size" x="{LEFT - 10}" y="{down + 16}" text-anchor="end">{lines}</text>',
        f'<text transform="translate({across + 15} {TOP - 8}) rotate(-60)">{shown}</text>',
    ]


def _mark(row: int, column: int, used: str) -> str:
    across = LEFT + column * CELL + CELL // 2
    down = TOP + row * CELL + CELL // 2
    kind = "front" if used == KERNEL else "mark"
    return f'<circle class="{kind}" cx="{across}" cy="{down}" r="{MARK}"/>'
