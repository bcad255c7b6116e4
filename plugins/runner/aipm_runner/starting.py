"""Makes a run of a claim: its session, its prompt, its environment, its program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from aipm_core import CallError, PluginContext
from aipm_runner.api import Launch, RunnerAdapter, RunStart
from aipm_runner.config import ProgramSettings, RunnerConfig
from aipm_runner.conversation import LONGEST_MESSAGE_BYTES, Conversations, Speaking
from aipm_runner.ports import PortBlocks
from aipm_runner.problems import Problem
from aipm_runner.process import RunProcess, start
from aipm_runner.programs import Programs
from aipm_runner.reading import Reading
from aipm_runner.run_records import Assignment, RunRecords
from aipm_runner.runs import Run
from aipm_runner.working_copies import WorkingCopy


@dataclass(frozen=True, slots=True)
class Started:
    """A program under way, and the session it works in."""

    process: RunProcess
    session_id: str
    adapter: RunnerAdapter
    speaking: Speaking | None = None
    resumed: bool = False
    """Whether the program was asked to go on with an earlier conversation."""


class Starting:
    """Starts programs; whatever keeps it from that is a ``Problem``."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        programs: Programs,
        conversations: Conversations,
    ) -> None:
        self._ctx = ctx
        self._programs = programs
        self._conversations = conversations
        self._ports = PortBlocks(ctx.config.first_port, ctx.config.ports_per_run)

    def adapter(self, run: Run) -> tuple[RunnerAdapter, ProgramSettings]:
        """Return a run's adapter and what the settings say of its program."""
        try:
            return self._programs.find(run.program)
        except CallError as error:
            raise Problem("config_missing", "as_told", reason=error) from None

    async def start(
        self,
        given: Assignment,
        copy: WorkingCopy,
        records: RunRecords,
        mcp_url: str,
        reading: Reading,
    ) -> Started:
        """Open a session and start the program in it."""
        run = given.run
        adapter, settings = self.adapter(run)
        resume = self._conversations.resumable(run, adapter)
        session_id, token = await records.open_session(run)
        home = await self._conversations.prepare(run, adapter, settings)
        begin = self._begin(given, adapter, settings, copy, mcp_url, token, home)
        begin = self._resumed(run, begin, resume)
        launch = self._launch(run, adapter, begin)
        self._check(run, launch, copy)
        dialogue = self._conversations.begin(run, adapter, begin, records, reading.add)
        reading.dialogue = dialogue
        await reading.flush()
        longest = LONGEST_MESSAGE_BYTES if dialogue else self._ctx.config.line_bytes
        process = await self._started(
            run,
            launch,
            copy,
            lambda: RunProcess(run.id, longest, dialogue.take if dialogue else reading.take),
            spoken_with=dialogue is not None,
        )
        speaking = Speaking(dialogue, process, begin.prompt) if dialogue else None
        return Started(process, session_id, adapter, speaking, resume is not None)

    async def _started(
        self,
        run: Run,
        launch: Launch,
        copy: WorkingCopy,
        make: Callable[[], RunProcess],
        *,
        spoken_with: bool,
    ) -> RunProcess:
        try:
            return await start(
                launch,
                copy.directory,
                self._ctx.config.stop_seconds,
                make,
                spoken_with=spoken_with,
            )
        except (OSError, ValueError) as error:
            raise Problem(
                "program_missing", "not_started", program=run.program, reason=error
            ) from None

    def _begin(
        self,
        given: Assignment,
        adapter: RunnerAdapter,
        settings: ProgramSettings,
        copy: WorkingCopy,
        mcp_url: str,
        token: str,
        home: Path,
    ) -> RunStart:
        run, agent = given.run, given.agent
        script = self._ctx.home / settings.script if settings.script else None
        return RunStart(
            run_id=run.id,
            agent_id=run.agent_id,
            project_id=run.project_id,
            purpose=run.purpose,
            task_id=run.task_id,
            prompt=self._prompt(given, spoken_with=adapter.drive is not None),
            system_prompt=agent.system_prompt or "",
            model=agent.model,
            mcp_url=mcp_url,
            token=token,
            directory=copy.directory,
            command=settings.command,
            script=script,
            environment={
                **self._conversations.variables(adapter),
                **self._environment(settings),
                **self._block(run),
            },
            home=home,
        )

    def _resumed(self, run: Run, begin: RunStart, resume: str | None) -> RunStart:
        """Go on with an earlier conversation: the agent is told that it was cut off."""
        if resume is None:
            return begin
        text = self._ctx.texts(f"prompt.resumed_{run.purpose}", task=run.task_id)
        return replace(begin, resume=resume, prompt=text + "\n")

    def _launch(self, run: Run, adapter: RunnerAdapter, begin: RunStart) -> Launch:
        try:
            launch = adapter.launch(begin)
            self._conversations.fill(begin.home, launch)
        except (ValueError, OSError) as error:
            raise Problem("config_missing", "settings", program=run.program, reason=error) from None
        return launch

    def _prompt(self, given: Assignment, *, spoken_with: bool) -> str:
        run, agent = given.run, given.agent
        told = self._ctx.texts(
            f"prompt.{run.purpose}{'_connected' if spoken_with else ''}",
            agent=run.agent_id,
            project=run.project_id,
            task=run.task_id,
        )
        below = [f"- {name}: {role}" for name, role in given.team]
        team = "\n".join((self._ctx.texts("prompt.team"), *below)) if below else None
        parts = (agent.system_prompt, agent.role_text, told, team)
        return "\n\n".join(part.strip() for part in parts if part and part.strip()) + "\n"

    def _environment(self, settings: ProgramSettings) -> dict[str, str]:
        names = {*self._ctx.config.environment, *settings.environment}
        return {name: os.environ[name] for name in sorted(names) if name in os.environ}

    def _block(self, run: Run) -> dict[str, str]:
        ports = self._ports.take(run.id)
        return {"RUN_PORTS": ports} if ports else {}

    def ended(self, run: Run) -> None:
        """Let others have what a run had."""
        self._ports.give_back(run.id)

    def _check(self, run: Run, launch: Launch, copy: WorkingCopy) -> None:
        """Find out before anything is started whether there is such a program."""
        word = launch.words[0]
        sought = str(copy.directory / word) if "/" in word else word
        if shutil.which(sought, path=launch.environment.get("PATH")) is None:
            raise Problem("program_missing", "program_missing", program=run.program, word=word)
