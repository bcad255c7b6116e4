"""Prints the table of faults and outcomes after a run that had any of them."""

from collections import defaultdict

import pytest

from tests.fault_table import ROWS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say for every fault how it ended, loudly where it could not be made to happen."""
    ended: dict[str, set[str]] = defaultdict(set)
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.getreports(outcome):
            if outcome != "passed" or report.when == "call":
                for key in _rows_of(report):
                    ended[key].add(outcome)
    if ended:
        terminalreporter.section("faults and outcomes")
    for key in [key for key in ROWS if key in ended]:
        verdict, row = _verdict(ended[key]), ROWS[key]
        terminalreporter.line(
            f"{verdict:8} {row.fault}: {row.after}", red=verdict != "held", bold=verdict != "held"
        )


def _rows_of(report: object) -> list[str]:
    return [str(value) for name, value in getattr(report, "user_properties", ()) if name == "fault"]


def _verdict(outcomes: set[str]) -> str:
    if outcomes & {"failed", "error"}:
        return "FAILED"
    return "NOT RUN" if "skipped" in outcomes else "held"
