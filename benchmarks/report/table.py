"""The summary on the terminal, with ratios."""

from rich.table import Table

from benchmarks.catalogue import FASTMCP, OURS, QUESTIONS, SDK, Metric
from benchmarks.report.losses import nearest
from benchmarks.results import Results, Section

PEERS = ("agent-mail", "A2A", "task-master")


def summary_table(results: Results) -> Table:
    """Return everything that was measured; a ratio above 1 is good for aipm."""
    table = Table("", "", OURS, FASTMCP, "", SDK, "", "best peer", "", box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
        column.no_wrap = True
    for question in QUESTIONS:
        section = results.questions.get(question.name)
        if section is None:
            continue
        table.add_row(f"[bold]{question.title}[/]")
        for at in section.conditions():
            for metric in question.metrics:
                cells = _cells(section, at, metric)
                if cells is not None:
                    table.add_row(f"  {at}", metric.label, *cells)
    return table


def _cells(section: Section, at: str, metric: Metric) -> list[str] | None:
    ours = section.value(OURS, at, metric.key)
    if ours is None:
        return None
    shown = [f"[bold]{metric.text(ours)}[/]"]
    for side in (FASTMCP, SDK):
        shown += _beside(ours, nearest(section, side, at, metric.key), metric)
    peers = {side: nearest(section, side, at, metric.key) for side in PEERS}
    known = {side: value for side, value in peers.items() if value is not None}
    if not known:
        return [*shown, "", ""]
    best = (max if metric.better == "more" else min)(known, key=lambda side: known[side])
    value, ratio = _beside(ours, known[best], metric)
    return [*shown, f"{best} {value}", ratio]


def _beside(ours: float, theirs: float | None, metric: Metric) -> list[str]:
    if theirs is None:
        return ["", ""]
    good, bad = (ours, theirs) if metric.better == "more" else (theirs, ours)
    if not bad:
        return [metric.text(theirs), ""]
    ratio = good / bad
    colour = "green" if ratio >= 1 else "red"
    return [metric.text(theirs), f"[{colour}]{ratio:.1f}×[/]"]
