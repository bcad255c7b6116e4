"""Writes docs/benchmarks.md, and a chart per question beside the results."""

from pathlib import Path

from benchmarks.catalogue import OURS, QUESTIONS
from benchmarks.report.answers import answer
from benchmarks.report.charts import chart
from benchmarks.report.losses import Loss, lines, losses
from benchmarks.results import Results, read

HEAD = """\
# Benchmarks

aipm with all plugins on, beside bare servers and other servers for agents, measured by
`make bench` (`make bench QUICK=1` is a small form of it; `python -m benchmarks NAME` asks one
question). This page and its charts are made from
[`benchmarks/results.json`](benchmarks/results.json) by `make docs`.

All sides run on the same machine and have their turns one after the other in every round (A B C,
A B C, …), so that a busy moment hits all of them alike. Calls and messages: medians of the rounds,
p99 included. Starts, memory and the waking of held polls: medians of the repetitions. Wake latency
and growth: percentiles of all samples. Memory and processor of held polls: looked at once. All are
asked by the same client, which sends finished bytes over kept connections. Servers are real
processes, asked over real sockets and pipes; nothing is mocked.
"""
LOSES = "## Where aipm loses\n\n"
WINS = "Nowhere in this run. That is worth some mistrust: ask other questions.\n"


def pages(results: Results) -> dict[str, str]:
    """Return every file of the report by its place below docs/."""
    made = {"benchmarks.md": page(results)}
    for question in QUESTIONS:
        if question.name in results.questions:
            made[f"benchmarks/{question.name}.svg"] = chart(question, results)
    return made


def publish(results: Results, docs: Path) -> None:
    """Write everything, the pages from what the file holds: its numbers are rounded."""
    file = docs / "benchmarks" / "results.json"
    results.write(file)
    for name, text in pages(read(file)).items():
        (docs / name).write_text(text, encoding="utf-8")


def page(results: Results) -> str:
    """Write the page."""
    parts = [HEAD, _where(results), _lost(losses(results))]
    for question in QUESTIONS:
        section = results.questions.get(question.name)
        if section is None:
            continue
        parts.append(
            f"## {question.title}\n\n**{question.asks}** {answer(question, section)}\n\n"
            f"![{question.title}](benchmarks/{question.name}.svg)\n\n{question.how}\n"
        )
        parts += [f"{_missing(section.missing)}\n"] if section.missing else []
    return "\n".join(parts)


def _where(results: Results) -> str:
    machine = results.machine
    versions = ", ".join(
        f"{side} {version}" for side, version in results.versions.items() if side != OURS
    )
    size = " in the small form (`--quick`), whose numbers are rough" if results.quick else ""
    told = (
        f"Measured {results.date}{size}: {machine.cores} cores, {machine.memory_gb} GB, "
        f"{machine.system}, Python {machine.python}, SQLite {machine.sqlite}. "
        f"aipm {results.versions.get(OURS, '')} beside {versions}.\n"
    )
    return told + _doubts(results) + (f"\n{_missing(results.missing)}\n" if results.missing else "")


def _doubts(results: Results) -> str:
    """Say what speaks against the numbers."""
    told = ""
    if results.machine.load > results.machine.cores / 2:
        told += (
            f"\nThe machine was busy with other work (load {results.machine.load:.0f} on "
            f"{results.machine.cores} cores): trust the ratios more than the numbers.\n"
        )
    if results.runs > 1:
        told += (
            f"\nPut together from {results.runs} runs (`--resume`): all sides of one question were "
            "measured in the same run, different questions were not.\n"
        )
    return told


def _missing(missing: dict[str, str]) -> str:
    return "\n".join(f"- {side} was not measured: {why}" for side, why in missing.items())


def _lost(found: list[Loss]) -> str:
    """List what we lose, by question."""
    if not found:
        return LOSES + WINS
    parts = []
    for question in QUESTIONS:
        told = lines([loss for loss in found if loss.question == question])
        if told:
            parts.append(f"{question.title}:\n\n" + "\n".join(f"- {one}" for one in told) + "\n")
    return LOSES + "\n".join(parts)
