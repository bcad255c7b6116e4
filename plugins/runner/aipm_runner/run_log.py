"""What programs print: redacted, capped, and readable while they run."""

from __future__ import annotations

from aipm_core import Json, PluginContext, redact
from aipm_runner.config import RunnerConfig
from aipm_runner.run_records import LogLine, RunRecords
from aipm_runner.runs import run_topic

MOST_LINES = 1000
"""How many lines are read at a time."""


class LogWriter:
    """The log of one run, written by the one process that runs it."""

    def __init__(
        self, records: RunRecords, ctx: PluginContext[RunnerConfig], run_id: str, logged: int = 0
    ) -> None:
        self._records = records
        self._ctx = ctx
        self._run_id = run_id
        self._left = ctx.config.log_bytes
        self._number = logged
        self._pending: list[LogLine] = []
        self.lines = 0
        """How many lines there were, kept or not."""

    def add(self, stream: str, text: str) -> None:
        """Keep a line, as long as there is room."""
        self.lines += 1
        if self._left <= 0:
            return
        text = redact(text)
        self._left -= len(text) + 1
        self._append(stream, text)
        if self._left <= 0:
            self._append("runner", self._ctx.texts("log.full", bytes=self._ctx.config.log_bytes))

    def _append(self, stream: str, text: str) -> None:
        self._number += 1
        self._pending.append((self._number, self._ctx.now(), stream, text.replace("\x00", "�")))

    async def flush(self) -> None:
        """Write what has come in, and wake those who follow."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []

        try:
            await self._records.write_log(self._run_id, pending)
        except BaseException:
            self._pending = pending + self._pending
            raise


class LogReader:
    """The logs of all runs."""

    def __init__(self, ctx: PluginContext[RunnerConfig]) -> None:
        self._ctx = ctx

    async def after(
        self, run_id: str, number: int, limit: int = MOST_LINES
    ) -> list[dict[str, Json]]:
        """Return the lines after a number, oldest first."""
        rows = await self._ctx.store.scan(
            "select number, at, stream, text from run_log where run_id = ? and number > ? "
            "order by number limit ?",
            *(run_id, number, limit),
        )
        return [
            {"number": r["number"], "at": r["at"], "stream": r["stream"], "text": r["text"]}
            for r in rows
        ]

    async def wait(self, run_id: str, number: int, seconds: float) -> None:
        """Wait until there is a line after a number, or the run has ended."""

        async def look() -> bool | None:
            row = await self._ctx.store.one(
                "select 1 from run_log where run_id = ? and number > ? union all "
                "select 1 from runs where id = ? and ended_at is not null limit 1",
                *(run_id, number, run_id),
            )
            return True if row else None

        await self._ctx.store.wait_until((run_topic(run_id),), look, seconds)
