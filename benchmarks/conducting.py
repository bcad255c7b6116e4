"""Takes the questions one after the other; what is finished is on disk."""

import asyncio
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from benchmarks.catalogue import OURS, QUESTIONS, Question
from benchmarks.results import Results, Section
from benchmarks.run import Display, Run, Scale, reason
from benchmarks.sides.side import Side


class Stage(Display, Protocol):
    """Where a whole run is shown."""

    def plan(self, steps: int) -> None:
        """Say how many steps there are in all."""

    def begin(self, question: str, steps: int) -> None:
        """Go on to a question of so many steps."""

    def finish(self) -> None:
        """The question is done."""

    def tell(self, line: str) -> None:
        """Say something that stays."""


async def prepare(sides: Sequence[Side], results: Results, bar: Stage) -> list[Side]:
    """Install what is missing; return the sides that can be had."""
    had = []
    for side in sides:
        bar.show(f"install {side.name} if it is not there")
        try:
            results.versions[side.name] = await asyncio.to_thread(side.prepare)
        except Exception as error:  # noqa: BLE001 - a side that cannot be had is no end of the run
            results.missing[side.name] = reason(error)
            bar.tell(f"{side.name} is not measured: {results.missing[side.name]}")
        else:
            had.append(side)
    return had


async def answer(
    questions: Sequence[Question],
    sides: Sequence[Side],
    scale: Scale,
    results: Results,
    bar: Stage,
    file: Path | None,
) -> None:
    """Answer the questions that have no answer yet."""
    had = await prepare(sides, results, bar)
    bar.plan(sum(_module(question).steps(Run(scale, had, bar)) for question in questions))
    for question in questions:
        run = Run(scale, had, bar)
        bar.begin(question.title, _module(question).steps(run))
        answers = {**results.questions, question.name: await _measured(question, run)}
        results.questions = {
            one.name: answers[one.name] for one in QUESTIONS if one.name in answers
        }
        for side, why in run.section.missing.items():
            bar.tell(f"{question.title}: {side} is not measured: {why}")
        bar.finish()
        if file is not None:
            results.write(file)


async def _measured(question: Question, run: Run) -> Section:
    """Measure; what no step caught ends this question, not the run."""
    begun = time.perf_counter()
    try:
        await _module(question).measure(run)
    except Exception as error:  # noqa: BLE001 - the other questions are worth their answers
        run.section.missing[OURS] = reason(error)
    run.section.seconds = time.perf_counter() - begun
    return run.section


def _module(question: Question) -> Any:
    return import_module(f"benchmarks.questions.{question.name}")
