"""``make bench``: all questions, or those that are named.

``core`` is what the core costs; ``page`` is what people wait for.
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

import uvloop
from rich.console import Console

from benchmarks import results as files
from benchmarks.catalogue import OURS, QUESTIONS, find
from benchmarks.conducting import answer
from benchmarks.progress import Bar
from benchmarks.report.page import publish
from benchmarks.report.table import summary_table
from benchmarks.results import Results
from benchmarks.run import FULL, QUICK
from benchmarks.sides.a2a import A2a
from benchmarks.sides.agent_mail import AgentMail
from benchmarks.sides.aipm import Aipm
from benchmarks.sides.bare import FastMcp, Sdk
from benchmarks.sides.task_master import TaskMaster

ROOT = Path(__file__).resolve().parent.parent
SIDES = {side.name: side for side in (Aipm, FastMcp, Sdk, AgentMail, A2a, TaskMaster)}
NAMES = [question.name for question in QUESTIONS]


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}, core, page")
    parser.add_argument("--quick", action="store_true", help="a small form of everything")
    parser.add_argument("--json", action="store_true", help="print JSON, write no page")
    parser.add_argument("--sides", default=",".join(SIDES), help="comma-separated: %(default)s")
    parser.add_argument("--resume", action="store_true", help="keep what the last run finished")
    parser.add_argument("--publish", action="store_true", help="write docs/ even if it was quick")
    options = parser.parse_args(words)
    for given, known in (
        (options.names, [*NAMES, "core", "page"]),
        (options.sides.split(","), SIDES),
    ):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return options


async def conduct(options: argparse.Namespace, results: Results, console: Console) -> None:
    """Measure; SIGTERM ends it as Ctrl-C does, with all servers it started."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    wanted = options.names or NAMES
    questions = [find(name) for name in wanted if name not in results.questions]
    sides = [SIDES[name]() for name in options.sides.split(",")]
    scale = QUICK if options.quick else FULL
    with Bar(console) as bar:
        file = None if options.json or options.names else place(options)
        await answer(questions, sides, scale, results, bar, file)


def place(options: argparse.Namespace) -> Path:
    """Return where the results of finished questions are kept while it runs."""
    return ROOT / "build" / "benchmarks" / ("quick.json" if options.quick else "full.json")


def main() -> int:
    """Measure, show, publish; the exit code says whether aipm itself could be measured."""
    options = parse(sys.argv[1:])
    if options.names == ["core"]:
        from benchmarks import core

        core.run()
        return 0
    if options.names == ["page"]:
        from benchmarks import people

        people.run(quick=options.quick)
        return 0
    console = Console(stderr=True)
    resumed = options.resume and place(options).is_file()
    results = files.read(place(options)) if resumed else files.begin(options.quick)
    results.runs += resumed
    try:
        uvloop.run(conduct(options, results, console))
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("stopped; with --resume it goes on with the next question")
        return 130
    if options.json:
        print(results.text(), end="")
    else:
        Console(width=None if sys.stdout.isatty() else 150).print(summary_table(results))
        if not options.names and (options.publish or not options.quick):
            publish(results, ROOT / "docs")
            console.print("written: docs/benchmarks.md, docs/benchmarks/")
    failed = [name for name, section in results.questions.items() if OURS in section.missing]
    return 1 if failed or OURS in results.missing else 0


if __name__ == "__main__":
    sys.exit(main())
