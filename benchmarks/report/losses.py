"""Where aipm is worse than another side, or worse than itself with little in store."""

from dataclasses import dataclass
from itertools import product

from benchmarks.catalogue import OURS, QUESTIONS, Metric, Question
from benchmarks.results import Results, Section

NOISE = 1.1  # below this a repetition may turn out the other way
SLOWER = 1.2  # growth below this is not called growth


@dataclass(frozen=True)
class Loss:
    """One comparison that another side wins."""

    question: Question
    metric: Metric
    at: str
    other: str
    ours: float
    theirs: float
    failed: float = 0

    @property
    def times(self) -> float:
        """How many times worse."""
        worse, better = max(self.ours, self.theirs), min(self.ours, self.theirs)
        return worse / better if better > 0 else float("inf")

    def text(self) -> str:
        """Name who does better, and how much."""
        doubt = ", may be noise" if self.times < NOISE else ""
        times = "" if self.times == float("inf") else f", {self.times:.1f}×"
        but = f", but {self.failed:,.0f} of its calls failed" if self.failed else ""
        return f"{self.other} {self.metric.text(self.theirs)}{times}{doubt}{but}"


def lines(found: list[Loss]) -> list[str]:
    """Return one line for each of our numbers that somebody beats."""
    grouped: dict[tuple[str, str, str], list[Loss]] = {}
    for loss in found:
        key = (loss.at, loss.metric.label, loss.metric.text(loss.ours))
        grouped.setdefault(key, []).append(loss)
    return [
        f"{at}, {label}: {ours} · " + " · ".join(loss.text() for loss in beaten)
        for (at, label, ours), beaten in grouped.items()
    ]


def losses(results: Results) -> list[Loss]:
    """Return every comparison that we lose."""
    found = []
    for question in QUESTIONS:
        section = results.questions.get(question.name)
        if section is not None:
            found += (
                growth(question, section)
                if question.name == "growth"
                else compared(question, section)
            )
    return found


def compared(question: Question, section: Section) -> list[Loss]:
    """Compare with every other side under the same condition, or with the nearest it has."""
    found = []
    others = [side for side in section.sides() if side != OURS]
    for at, metric, other in product(section.conditions(), question.metrics, others):
        ours = section.value(OURS, at, metric.key)
        theirs = nearest(section, other, at, metric.key)
        if ours is None or theirs is None:
            continue
        lost = ours < theirs if metric.better == "more" else ours > theirs
        if lost and abs(ours - theirs) > metric.least and metric.text(ours) != metric.text(theirs):
            failed = section.value(other, at, "errors") or 0
            found.append(Loss(question, metric, at, other, ours, theirs, failed))
    return found


def nearest(section: Section, side: str, at: str, metric: str) -> float | None:
    """Return the number of a side; of one that has only a way of its own, that way's."""
    value = section.value(side, at, metric)
    own = [row for row in section.rows if row.side == side]
    ours = {row.at for row in section.rows if row.side == OURS}
    if value is None and len(own) == 1 and own[0].at not in ours:
        return own[0].values.get(metric)
    return value


def growth(question: Question, section: Section) -> list[Loss]:
    """Compare each call in the largest store with the same in the smallest."""
    found = []
    metric = question.metrics[0]
    for call in dict.fromkeys(row.at.partition(",")[0] for row in section.rows):
        rows = [row for row in section.rows if row.at.partition(",")[0] == call]
        least = min(rows, key=lambda row: row.values["stored"])
        most = max(rows, key=lambda row: row.values["stored"])
        before, after = least.values[metric.key], most.values[metric.key]
        if after > before * SLOWER:
            other = f"itself with {least.values['stored']:,.0f}"
            found.append(Loss(question, metric, most.at, other, after, before))
    return found
