"""A runtime with a project, a worker and a manager in it, and a clock that is moved by hand."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aipm_devkit.testing import TestRuntime, running
from aipm_sessions.plugin import ADMINISTRATION, Sessions

from aipm_core import Reply
from aipm_core.plugin import PluginClass


class ManualClock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


class SessionRuntime:
    """A runtime with a project, a worker and a manager."""

    def __init__(self, aipm: TestRuntime, watch: ManualClock) -> None:
        self.aipm = aipm
        self.watch = watch
        self.passkeys: dict[str, str] = {}

    async def log_in(self, agent: str = "worker", **more: Any) -> Reply:
        passkey = self.passkeys.get(agent, "aipm_pk_wrong")
        arguments = {"agent_id": agent, "passkey": passkey, "project_id": "p", **more}
        return await self.aipm.call("authenticate", None, **arguments)

    async def token(self, agent: str = "worker", purpose: str = "task") -> str:
        return str((await self.log_in(agent, purpose=purpose)).result["session_token"])

    async def code(self, tool: str, token: str) -> str | None:
        reply = await self.aipm.call_with_token(tool, token)
        return reply.error.code if reply.error else None


@asynccontextmanager
async def session_runtime(
    *plugins: PluginClass, data_dir: Path | None = None, **config: Any
) -> AsyncGenerator[SessionRuntime]:
    watch = ManualClock()
    async with running(Sessions, *plugins, data_dir=data_dir, clock=watch, sessions=config) as aipm:
        made = SessionRuntime(aipm, watch)
        administration = aipm.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "P", None)
        await administration.add_project("other", "Other", None)
        for agent, role in (("boss", "manager"), ("worker", "worker")):
            _, made.passkeys[agent] = await administration.add_agent(
                agent,
                project_id="p",
                name=agent.title(),
                kind="ai",
                role=role,  # type: ignore[arg-type]
                parent="boss" if agent == "worker" else None,
            )
        yield made
