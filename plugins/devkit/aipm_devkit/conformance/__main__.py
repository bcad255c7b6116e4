"""The child: ``python -m aipm_devkit.conformance TARGET REPORT`` asks every question."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from aipm_devkit.conformance import runtime_checks, static_checks
from aipm_devkit.conformance.target import Subject, Unfit, import_roots, locate, subjects

Question = Callable[[Subject], str]
QUESTIONS: Mapping[str, Question] = {
    "entry_point": static_checks.entry_point,
    "private_imports": static_checks.private_imports,
    "importable": static_checks.importable,
    "hooks": static_checks.hooks,
    "settings": static_checks.settings,
    "starts": runtime_checks.starts,
    "tools": runtime_checks.tools,
    "texts": runtime_checks.texts,
    "deadlines": runtime_checks.deadlines,
    "migrations": runtime_checks.migrations,
    "company": runtime_checks.company,
    "adapters": runtime_checks.adapters,
}


class Report:
    """Lines a parent can read even if this process ends in the middle."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def write(self, **line: object) -> None:
        """Add one line."""
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


def main(target: str, report: Report) -> None:
    """Ask everything about every plugin of ``target``."""
    report.write(plugin="", begin="declared")
    found = locate(target)
    if isinstance(found, Path):
        sys.path[:0] = [str(root) for root in import_roots(found) if root.is_dir()]
    try:
        plugins = subjects(found)
    except Unfit as unfit:
        report.write(plugin="", name="declared", ok=False, message=str(unfit))
        return
    names = ", ".join(subject.name for subject in plugins)
    report.write(plugin="", name="declared", ok=True, message=names)
    for subject in plugins:
        _examine(subject, report)


def _examine(subject: Subject, report: Report) -> None:
    for name, question in QUESTIONS.items():
        report.write(plugin=subject.name, begin=name)
        ok, message = _ask(question, subject)
        report.write(plugin=subject.name, name=name, ok=ok, message=message)
        if name == "importable" and not ok:
            return


def _ask(question: Question, subject: Subject) -> tuple[bool, str]:
    try:
        return True, question(subject)
    except Unfit as unfit:
        return False, str(unfit)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is an answer
        return False, f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(sys.argv[1], Report(Path(sys.argv[2])))
