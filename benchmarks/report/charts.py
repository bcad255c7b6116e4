"""One chart per question."""

from collections.abc import Callable

from benchmarks.catalogue import FASTMCP, OURS, SDK, Metric, Question
from benchmarks.report.svg import Bar, Group, draw
from benchmarks.results import Results, Row, Section

KINDS = {OURS: "aipm", FASTMCP: "bare", SDK: "bare"}
More = Callable[[Row], str]


def chart(question: Question, results: Results) -> str:
    """Draw the answers to a question."""
    section = results.questions[question.name]
    if question.name == "growth":
        return _growth(question, section)
    if question.name == "polls":
        return _polls(question, section)
    metric = question.metrics[0]
    groups = [
        Group(at, [_bar(row, metric, _more(question, row)) for row in section.rows if row.at == at])
        for at in section.conditions()
    ]
    return draw(question.title, _note(question, metric), groups)


def _note(question: Question, metric: Metric) -> str:
    better = "longer is better" if metric.better == "more" else "shorter is better"
    return f"{question.asks} ({better})"


def _bar(row: Row, metric: Metric, more: str = "", name: str = "") -> Bar:
    value = row.values[metric.key]
    return Bar(name or row.side, value, metric.text(value), more, KINDS.get(row.side, "peer"))


def _more(question: Question, row: Row) -> str:
    shown = [
        f"{metric.label} {metric.text(row.values[metric.key])}"
        for metric in question.metrics[1:3]
        if metric.key in row.values
    ]
    if lost := row.values.get("lost"):
        shown.append(f"{lost:,.0f} of {row.values['acknowledged']:,.0f} LOST")
    if errors := row.values.get("errors"):
        shown.append(f"{errors:,.0f} failed")
    return "· " + " · ".join(shown) if shown else ""


def _growth(question: Question, section: Section) -> str:
    """Group by call: bars of one length are the good news."""
    (metric,) = question.metrics
    calls = dict.fromkeys(row.at.partition(",")[0] for row in section.rows)
    groups = [
        Group(
            call,
            [
                _bar(row, metric, name=f"{row.values['stored']:,.0f} stored")
                for row in section.rows
                if row.at.startswith(f"{call},")
            ],
        )
        for call in calls
    ]
    note = "p50 of one call; bars of one length mean that a full store costs nothing"
    return draw(question.title, note, groups, own_scale=True)


def _polls(question: Question, section: Section) -> str:
    """Group by what is measured, only for as many polls as make a difference."""
    groups = []
    for metric in question.metrics:
        for at in section.conditions():
            bars = [
                _bar(row, metric)
                for row in section.rows
                if row.at == at and metric.key in row.values
            ]
            last = at == section.conditions()[-1]
            if bars and (last or metric.key != "cpu_percent"):  # fewer cost no processor time
                groups.append(Group(f"{metric.label}, {at}", bars))
    return draw(question.title, _note(question, question.metrics[0]), groups, own_scale=True)
