"""One or two sentences per question, computed from what was measured."""

from collections.abc import Callable

from benchmarks.catalogue import OURS, Metric, Question
from benchmarks.report.losses import nearest
from benchmarks.results import Section


def answer(question: Question, section: Section) -> str:
    """Answer a question."""
    if OURS not in section.sides():
        return f"aipm was not measured: {section.missing.get(OURS, 'it was left out')}."
    return ANSWERS[question.name](question, section)


def times(ours: float, theirs: float, metric: Metric) -> str:
    """Say how much better or worse we are."""
    ratio = ours / theirs if metric.better == "more" else theirs / ours
    much, word = (ratio, "better") if ratio >= 1 else (1 / ratio, "worse")
    return f"{much:,.{0 if much >= 100 else 1}f}× {word}"


def beside(section: Section, at: str, metric: Metric) -> str:
    """Compare one of our numbers with everybody's."""
    ours = section.value(OURS, at, metric.key)
    shown = []
    for side in section.sides():
        theirs = None if side == OURS else nearest(section, side, at, metric.key)
        if ours and theirs:
            shown.append(f"{times(ours, theirs, metric)} than {side} ({metric.text(theirs)})")
    return ", ".join(shown)


def _own(section: Section, at: str, metric: Metric) -> str:
    value = section.value(OURS, at, metric.key)
    return "nothing measured" if value is None else metric.text(value)


def _at(section: Section, wanted: str) -> str:
    """Return the wanted condition, or the last of ours."""
    own = [row.at for row in section.rows if row.side == OURS]
    return wanted if wanted in own else own[-1]


def _throughput(question: Question, section: Section) -> str:
    at = _at(section, "16 clients")
    rate, p50, p99, _ = question.metrics
    return (
        f"With {at} aipm answers {_own(section, at, rate)} (p50 {_own(section, at, p50)}, p99 "
        f"{_own(section, at, p99)}): {beside(section, at, rate)}."
    )


def _messages(question: Question, section: Section) -> str:
    at = _at(section, "16 clients")
    rate, _, p99 = question.metrics
    kept = ", ".join(
        f"{side} {lost:,.0f} of {acknowledged:,.0f}"
        for side in section.sides()
        for acknowledged, lost in [_audit(section, side)]
        if lost or side == OURS
    )
    return (
        f"With {at} aipm keeps {_own(section, at, rate)} (p99 {_own(section, at, p99)}): "
        f"{beside(section, at, rate)}. Acknowledged and then not there: {kept}; nobody else any."
    )


def _audit(section: Section, side: str) -> tuple[float, float]:
    """Return what a side acknowledged, and what it lost of that."""
    rows = [row.values for row in section.rows if row.side == side]
    return sum(row["acknowledged"] for row in rows), sum(row["lost"] for row in rows)


def _wake(question: Question, section: Section) -> str:
    own = [row for row in section.rows if row.side == OURS]
    p50 = question.metrics[0]
    told = ", ".join(
        f"{row.at} after {p50.text(row.values['p50_ms'])} (p99 {row.values['p99_ms']:,.1f} ms)"
        for row in own
    )
    compared = beside(section, own[0].at, p50)
    return f"A waiting agent has it: {told}." + (f" The first is {compared}." if compared else "")


def _each(question: Question, section: Section) -> str:
    """Compare under every condition of ours."""
    metric = question.metrics[0]
    own = [row.at for row in section.rows if row.side == OURS]
    told = [f"{at}: {_own(section, at, metric)}, {beside(section, at, metric)}" for at in own]
    return ". ".join(told) + "."


def _growth(question: Question, section: Section) -> str:
    metric = question.metrics[0]
    ratios = {}
    for call in dict.fromkeys(row.at.partition(",")[0] for row in section.rows):
        rows = [row for row in section.rows if row.at.partition(",")[0] == call]
        rows.sort(key=lambda row: row.values["stored"])
        ratios[call] = rows[-1].values[metric.key] / rows[0].values[metric.key]
    sizes = sorted({row.values["stored"] for row in section.rows})
    worst = max(ratios, key=lambda call: ratios[call])
    told = ", ".join(f"`{call}` {ratio:.2f}×" for call, ratio in ratios.items())
    return (
        f"From {sizes[0]:,.0f} to {sizes[-1]:,.0f} of each, a call takes so many times as long: "
        f"{told}. The most that any of them grows is {ratios[worst]:.2f}× (`{worst}`)."
    )


def _polls(question: Question, section: Section) -> str:
    at = [row.at for row in section.rows if row.side == OURS][-1]
    told = [
        f"{metric.label} {_own(section, at, metric)} ({beside(section, at, metric)})"
        for metric in question.metrics
        if section.value(OURS, at, metric.key) is not None
    ]
    return f"{at}: {'; '.join(told)}."


ANSWERS: dict[str, Callable[[Question, Section], str]] = {
    "throughput": _throughput,
    "messages": _messages,
    "wake": _wake,
    "start": _each,
    "memory": _each,
    "growth": _growth,
    "polls": _polls,
}
