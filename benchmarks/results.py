"""What was measured: a file that holds no name and no path of the machine."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel, ConfigDict

PACKAGES = ("aipm-runtime", "mcp", "uvicorn", "uvloop", "pydantic", "starlette")


class Record(BaseModel):
    """Part of the file; unknown keys are errors, so that an old file is noticed."""

    model_config = ConfigDict(extra="forbid")


class Row(Record):
    """One side under one condition."""

    side: str
    at: str
    values: dict[str, float]


class Section(Record):
    """The answers to one question."""

    rows: list[Row] = []
    missing: dict[str, str] = {}
    seconds: float = 0

    def value(self, side: str, at: str, metric: str) -> float | None:
        """Return one number, if it was measured."""
        for row in self.rows:
            if (row.side, row.at) == (side, at):
                return row.values.get(metric)
        return None

    def conditions(self) -> list[str]:
        """Return under what was measured, in order."""
        return list(dict.fromkeys(row.at for row in self.rows))

    def sides(self) -> list[str]:
        """Return who was measured, in order."""
        return list(dict.fromkeys(row.side for row in self.rows))


class Machine(Record):
    """Where it was measured."""

    cores: int
    memory_gb: int
    system: str
    python: str
    sqlite: str
    packages: dict[str, str]
    load: float = 0  # of other work, when the run began


class Results(Record):
    """Everything of one run."""

    v: int = 1
    date: str
    quick: bool
    runs: int = 1  # more than one if it was resumed
    machine: Machine
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    questions: dict[str, Section] = {}

    def write(self, file: Path) -> None:
        """Write the file whole or not at all."""
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(self.text(), encoding="utf-8")
        new.replace(file)

    def text(self) -> str:
        """Return the file's text, numbers rounded to what they are worth."""
        rounded = self.model_copy(deep=True)
        for section in rounded.questions.values():
            section.seconds = round(section.seconds)
            for row in section.rows:
                row.values = {key: float(f"{value:.4g}") for key, value in row.values.items()}
        return rounded.model_dump_json(indent=1) + "\n"


def read(file: Path) -> Results:
    """Read a file."""
    return Results.model_validate_json(file.read_text(encoding="utf-8"))


def begin(quick: bool) -> Results:
    """Begin a new file on this machine."""
    import sqlite3

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    machine = Machine(
        cores=os.cpu_count() or 1,
        memory_gb=round(memory / 2**30),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        packages={name: version(name) for name in PACKAGES},
        load=round(os.getloadavg()[0], 1),
    )
    today = datetime.now(UTC).date().isoformat()
    return Results(date=today, quick=quick, machine=machine)
