"""Takes in what a program prints: lines for the log, and what they say of use and limits."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TypeVar

from aipm_runner.api import LineRead, RunnerAdapter
from aipm_runner.drivers.dialogue import Dialogue
from aipm_runner.run_log import LogWriter
from aipm_runner.run_records import RunRecords, Usage
from aipm_runner.runs import Run

logger = logging.getLogger(__name__)
Number = TypeVar("Number", int, float)


class Reading:
    """The output of one run. An adapter gives the sums so far, so a line twice counts once."""

    def __init__(
        self, adapter: RunnerAdapter, log: LogWriter, records: RunRecords, run: Run
    ) -> None:
        self._adapter = adapter
        self._log = log
        self._records = records
        self._run_id = run.id
        self._before = (run.tokens, run.cost_usd)  # of a run that goes on
        guarded = int(adapter.abilities.guard)
        self._usage, self._told = Usage(guarded=guarded), Usage()
        self.dialogue: Dialogue | None = None
        """The conversation with the program, if it is one that is spoken with."""
        self.tool_in_progress = False
        """Whether the program uses a tool of its own, which may be silent."""

    def add(self, stream: str, text: str) -> None:
        """Add a line that somebody has made sense of."""
        self._log.add(stream, text)

    def take(self, stream: str, text: str) -> None:
        """Take in a line."""
        found = self._read(text) if stream == "stdout" else None
        self._log.add(stream, text if found is None else found.text)
        if found is not None:
            self.use(found)

    @property
    def lines(self) -> int:
        """How many lines there were."""
        return self._log.lines

    def use(self, found: LineRead) -> None:
        """Note what a line says of use, limits and tools."""
        if found.tool is not None:
            self.tool_in_progress = found.tool
        given = {
            name: value
            for name in ("tokens", "cost_usd", "limit_until")
            if (value := getattr(found, name)) is not None
        }
        self._usage = replace(self._usage, **given)

    async def flush(self) -> None:
        """Write down what has come in."""
        await self._log.flush()
        usage = self._usage
        if (spoken := self.dialogue) is not None:
            usage = replace(
                usage,
                tokens=_sum(self._before[0], spoken.tokens),
                cost_usd=_sum(self._before[1], spoken.cost_usd),
                limit_until=spoken.limit_until,
                program_session=spoken.session,
            )
        if usage != self._told:
            await self._records.use(self._run_id, usage)
            self._told = usage

    def _read(self, text: str) -> LineRead | None:
        if self._adapter.read is None:
            return None
        try:
            return self._adapter.read(text)
        except Exception:
            logger.exception("the adapter %s cannot read a line", self._adapter.name)
            return None


def _sum(before: Number | None, now: Number | None) -> Number | None:
    if before is None or now is None:
        return now
    return before + now
