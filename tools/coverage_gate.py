"""Fails when the tests leave too much of the code unrun. Thresholds stand here and nowhere else.

``python tools/coverage_gate.py`` combines what ``coverage run`` left in ``build/coverage``, says
which lines and branches no test reached, and ends with 1 when a threshold is missed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("aipm_core/**/*.py", "plugins/*/aipm_*/**/*.py")
LEAST = 95.0
"""Percent of all branches, and of all lines."""
WHOLE: Mapping[str, Sequence[str]] = {
    "pipeline": ("aipm_core/pipeline/call.py", "aipm_core/pipeline/build.py"),
    "loader": ("aipm_core/loading/*.py",),
    "events": ("aipm_core/events.py",),
    "authorisation": (
        "aipm_core/pipeline/access.py",
        "plugins/http_server/aipm_http_server/bearer.py",
        "plugins/http_server/aipm_http_server/guard.py",
        "plugins/delegation/aipm_delegation/separation.py",
        "plugins/policy/aipm_policy/answers.py",
        "plugins/policy/aipm_policy/confirmations.py",
        "plugins/policy/aipm_policy/digest.py",
        "plugins/policy/aipm_policy/authorizer.py",
        "plugins/policy/aipm_policy/elicitation.py",
        "plugins/policy/aipm_policy/engine.py",
        "plugins/policy/aipm_policy/grants.py",
        "plugins/policy/aipm_policy/rules.py",
        "plugins/sessions/aipm_sessions/credentials.py",
        "plugins/sessions/aipm_sessions/passkey_seals.py",
        "plugins/sessions/aipm_sessions/session_store.py",
        "plugins/sessions/aipm_sessions/directory.py",
        "plugins/sessions/aipm_sessions/login.py",
        "plugins/sessions/aipm_sessions/ui_tokens.py",
        "plugins/ui_gateway/aipm_ui_gateway/identity.py",
    ),
    "markers": ("plugins/markers/aipm_markers/*.py",),
}
"""Rooms in which every line and every branch is reached."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What the tests reached of one file, or of several."""

    name: str
    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_taken: int = 0
    missed: str = ""

    @classmethod
    def of(cls, name: str, files: Iterable[Reach]) -> Reach:
        """Add up files."""
        found = list(files)
        return cls(
            name=name,
            lines=sum(file.lines for file in found),
            lines_run=sum(file.lines_run for file in found),
            branches=sum(file.branches for file in found),
            branches_taken=sum(file.branches_taken for file in found),
        )

    @property
    def complete(self) -> bool:
        """Whether nothing is missed."""
        return (self.lines, self.branches) == (self.lines_run, self.branches_taken)

    @property
    def line_percent(self) -> float:
        """Share of the lines that ran."""
        return _percent(self.lines_run, self.lines)

    @property
    def branch_percent(self) -> float:
        """Share of the branches that were taken."""
        return _percent(self.branches_taken, self.branches)


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


def measured(coverage: Coverage, root: Path) -> list[Reach]:
    """Read the combined data; a file that no process imported counts as missed."""
    files = sorted(str(file) for pattern in PRODUCT for file in root.glob(pattern))
    data = coverage.get_data()
    data.touch_files([file for file in files if file not in data.measured_files()])
    with TemporaryDirectory() as place:
        report = Path(place, "report.json")
        coverage.json_report(morfs=files, outfile=str(report), ignore_errors=False)
        found = json.loads(report.read_text(encoding="utf-8"))["files"]
    return [_reach(root, Path(name), facts) for name, facts in found.items()]


def _reach(root: Path, file: Path, facts: Mapping[str, Any]) -> Reach:
    summary = facts["summary"]
    missed = [str(line) for line in facts["missing_lines"]]
    for start, end in facts["missing_branches"]:
        missed.append(f"{start}->{'exit' if end < 0 else end}")
    return Reach(
        name=str((root / file).relative_to(root)),
        lines=summary["num_statements"],
        lines_run=summary["covered_lines"],
        branches=summary["num_branches"],
        branches_taken=summary["covered_branches"],
        missed=", ".join(missed),
    )


def complaints(
    files: Sequence[Reach], whole: Mapping[str, Sequence[str]] = WHOLE, least: float = LEAST
) -> Iterator[str]:
    """Say in one sentence each which thresholds are missed."""
    total = Reach.of("all", files)
    for what, percent in (("branches", total.branch_percent), ("lines", total.line_percent)):
        if percent < least:
            yield f"{percent:.2f} % of the {what} are reached, less than {least:g} %"
    for room, patterns in whole.items():
        for pattern in patterns:
            inside = [file for file in files if Path(file.name).match(pattern)]
            if not inside:
                yield f"{room}: no file is called {pattern}"
            for file in inside:
                if not file.complete:
                    yield f"{room}: {file.name} is not reached in {file.missed}"


def report(files: Sequence[Reach]) -> Iterator[str]:
    """List what is missed file by file, then a line a package."""
    for file in files:
        if not file.complete:
            yield f"{file.name}: {file.missed}"
    packages: dict[str, list[Reach]] = {}
    for file in files:
        packages.setdefault(_package(file.name), []).append(file)
    rows = [Reach.of(name, inside) for name, inside in sorted(packages.items())]
    yield f"{'package':<28}{'lines':>8}{'':>9}{'branches':>10}"
    for row in [*rows, Reach.of("all", files)]:
        lines = f"{row.lines:>8}{row.line_percent:>8.2f}%"
        yield f"{row.name:<28}{lines}{row.branches:>10}{row.branch_percent:>8.2f}%"


def _package(name: str) -> str:
    return next(part for part in Path(name).parts if part.startswith("aipm_"))


def main(arguments: Sequence[str]) -> int:
    """Combine, report, judge; the tree is this one unless another is named."""
    root = Path(arguments[0]) if arguments else ROOT
    os.chdir(root)
    coverage = Coverage(config_file=str(root / "pyproject.toml"))
    coverage.combine()
    files = measured(coverage, root)
    sys.stdout.writelines(f"{line}\n" for line in report(files))
    found = list(complaints(files))
    sys.stderr.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
