"""``python -m tests.soak --minutes 30``: run a soak, show how it goes, print what came of it."""

import argparse
import sys
import tempfile
from pathlib import Path

import anyio
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.soak.report import reported
from tests.soak.running import Plan, Soak, soaked

_EVERY = 60  # looks between lines where no bar can be drawn


class Line:
    """One line that moves: how far, and what the server holds."""

    def __init__(self, plan: Plan) -> None:
        self._console = Console(stderr=True)
        columns = (
            TextColumn("soak"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[now]}"),
        )
        self.bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self.bar.add_task("soak", total=plan.seconds, now="")
        self._looks = 0

    def show(self, soak: Soak) -> None:
        """Draw the newest sample."""
        sample, tally = soak.gauge.seen[-1], soak.place.tally
        now = (
            f"{sample.rss / 2**20:.1f} MB, {sample.descriptors} descriptors, {sample.threads} "
            f"threads, {tally.calls} calls, {soak.events} events, {len(tally.complaints)} wrong"
        )
        elapsed = sample.at - soak.empty.at
        self.bar.update(self._task, completed=elapsed, now=now)
        self._looks += 1
        if not self._console.is_terminal and self._looks % _EVERY == 0:
            self._console.print(f"{elapsed / 60:.1f} min: {now}", soft_wrap=True)


def main() -> None:
    """Read the options and soak."""
    options = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--pairs", type=int, default=10, help="pairs of agents")
    options.add_argument("--json", type=Path, help="also write the report to this file")
    given = options.parse_args()
    plan = Plan(seconds=given.minutes * 60, pairs=given.pairs)
    line = Line(plan)
    with tempfile.TemporaryDirectory(prefix="aipm-soak-") as root, line.bar:
        report = reported(anyio.run(soaked, Path(root), plan, line.show))
    print(report.text())
    if given.json:
        given.json.write_text(report.json(), encoding="utf-8")
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
