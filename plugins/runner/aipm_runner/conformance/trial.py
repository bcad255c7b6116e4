"""Tries an adapter on the fake program: every scenario, and what must come of it."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aipm_core import Json
from aipm_runner.api import Answer, Client, Driver, EndReason, Launch, RunnerAdapter, RunStart
from aipm_runner.drivers.dialogue import Dialogue
from aipm_runner.homes import Homes
from aipm_runner.process import RunProcess, start

FAKE = (sys.executable, "-I", "-m", "aipm_runner.conformance.fake_program")
"""The words that start the fake program; its protocol and a scenario come behind."""
TOKEN = "aipm_st_conformance-kit-0123456789abcdef"  # noqa: S105 - nobody's  # nosec B105
_SECONDS = 30.0
_QUIET_SECONDS = 0.5
_STOP_SECONDS = 0.2
_LONGEST_LINE = 32_768
_MESSAGE_BYTES = 16 * 1024 * 1024
EXPECTED: Mapping[str, EndReason | None] = {
    "work": "ok",
    "stubborn": "ok",
    "two_results": "ok",
    "orphan": "ok",
    "long_line": "ok",
    "garbage": "ok",
    "quoting": "ok",
    "unknown_tool": "ok",
    "quiet": "handshake_timeout",
    "stalled": None,
    "dying": None,
    "quota": "quota",
    "not_logged_in": "not_logged_in",
    "network": "network",
    "model_unavailable": "model_unavailable",
    "context_full": "context_full",
    "failed": "process_failed",
}
"""How a conversation ends in each scenario; ``None``: it does not, and others have to notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of one scenario."""

    end: EndReason | None
    asked: tuple[str, ...]
    ran: bool
    tokens: int | None
    cost_usd: float | None
    limit_until: float | None
    log: tuple[str, ...]
    launch: Launch
    left: bool
    """Whether something of the program was left when it should have been gone."""


def start_of(adapter: RunnerAdapter, place: Path, resume: str | None = None) -> RunStart:
    """Return a run that can be tried."""
    home = Homes(place).make("run_trial")
    directory = place / "work"
    directory.mkdir(exist_ok=True)
    return RunStart(
        run_id="run_trial",
        agent_id="ann",
        project_id="p",
        purpose="task",
        task_id="tsk_1",
        prompt="begin",
        system_prompt="",
        model=None,
        mcp_url="http://127.0.0.1:9/mcp",
        token=TOKEN,
        directory=directory,
        command=("fake",),
        script=None,
        environment={"PATH": "/usr/bin:/bin"},
        home=home,
        resume=resume,
    )


async def tried(
    adapter: RunnerAdapter,
    scenario: str,
    *,
    allowed: bool = True,
    resume: str | None = None,
) -> Tried:
    """Play one scenario to an adapter and return what came of it."""
    with tempfile.TemporaryDirectory(prefix="aipm-adapter-") as place:
        begin = start_of(adapter, Path(place), resume)
        launch = adapter.launch(begin)
        Homes(Path(place)).fill(begin.home, launch.files)
        words = (*FAKE, adapter.protocol, scenario)
        trial = _Trial(adapter, begin, allowed=allowed, quick=scenario == "quiet")
        return await trial.run(replace(launch, words=words), launch, EXPECTED.get(scenario))


class _Trial:
    """One program under way."""

    def __init__(
        self, adapter: RunnerAdapter, begin: RunStart, *, allowed: bool, quick: bool
    ) -> None:
        drive = adapter.drive
        if drive is None:
            raise ValueError(f"the adapter {adapter.name} does not speak with its program")
        self._allowed = allowed
        self._begin = begin
        self._asked: list[str] = []
        self._log: list[str] = []

        def driver(client: Client) -> Driver:
            return drive(begin, client)

        self._dialogue = Dialogue(
            driver,
            self._judge,
            lambda _, text: self._log.append(text),
            longest=_LONGEST_LINE,
            start_seconds=_QUIET_SECONDS if quick else _SECONDS,
            repeats=False,
        )

    async def _judge(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        self._asked.append(f"{tool} {arguments.get('command')}")
        known = tool == "Bash"
        return Answer(allowed=self._allowed and known, text="" if self._allowed else "no")

    async def run(self, launch: Launch, told: Launch, expected: EndReason | None) -> Tried:
        """Speak with the program until it has ended or should have."""
        process = await start(
            launch,
            self._begin.directory,
            _STOP_SECONDS,
            lambda: RunProcess(self._begin.run_id, _MESSAGE_BYTES, self._dialogue.take),
            spoken_with=True,
        )
        self._dialogue.attach(process.write)
        speaking = asyncio.create_task(self._dialogue.hold("begin"))
        exited = asyncio.create_task(process.exited.wait())
        await asyncio.wait(
            (speaking, exited),
            timeout=_QUIET_SECONDS if expected is None else _SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        speaking.cancel()
        process.close_input()
        await process.stop(_STOP_SECONDS)
        await process.clean_up()
        exited.cancel()
        return self._result(told, left=not process.exited.is_set())

    def _result(self, launch: Launch, *, left: bool) -> Tried:
        dialogue = self._dialogue
        return Tried(
            end=dialogue.end.reason if dialogue.end else None,
            asked=tuple(self._asked),
            ran=(self._begin.directory / "ran").exists(),
            tokens=dialogue.tokens,
            cost_usd=dialogue.cost_usd,
            limit_until=dialogue.limit_until,
            log=tuple(self._log),
            launch=launch,
            left=left,
        )
