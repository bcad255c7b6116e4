"""A project with as many tasks and agents as you like, and a person who looks at it."""

from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings
from aipm_devkit.program import Install, Server
from aipm_sessions.plugin import ADMINISTRATION

from aipm_core import Tx

_N = "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) "
_TASKS = (
    f"{_N}insert into tasks (id, project_id, title, description, status, priority, rank, "
    "assignee_id, depth, approval_status, created_at, updated_at) select ? || i, 'p', "
    "'task ' || i, 'Some words about it.', ?, 'medium', 2, null, 1, 'approved', "
    "'2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' from n where i <= ?"
)
_AGENTS = (
    f"{_N}insert into agents (id, name, kind, role, passkey_hash, created_at) "
    "select 'agent-' || i, 'Agent ' || i, 'ai', 'worker', '', '2026-01-01T00:00:00.000Z' from n"
)
_MEMBERS = f"{_N}insert into project_agents select 'p', 'agent-' || i from n"


@dataclass
class House:
    """An installed project and the token of its person."""

    install: Install
    token: str

    @classmethod
    def make(cls, root: Path, tasks: dict[str, int], agents: int = 0) -> "House":
        """Install it, with so many tasks of each status."""
        install = Install.make(root)
        token = anyio.run(_furnish, install.root / ".aipm-data", tasks, agents)
        return cls(install, token)

    def http(self, server: Server) -> httpx.Client:
        """Return a client in the person's name."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{server.url}/api", headers=headers, timeout=60)


async def _furnish(data_dir: Path, tasks: dict[str, int], agents: int) -> str:
    async def fill(tx: Tx) -> None:
        for status, count in tasks.items():
            if count:
                await tx.run(_TASKS, count, f"tsk_{status}_", status, count)
        if agents:
            await tx.run(_AGENTS, agents)
            await tx.run(_MEMBERS, agents)

    async with open_runtime(Settings(data_dir=data_dir)) as runtime:
        administration = runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "p", data_dir.parent / "work")
        await administration.add_agent(
            "ada", project_id="p", name="Ada", kind="human", role="manager", parent=None
        )
        await runtime.store.write(fill)
        return str((await administration.add_token("ada"))["token"])


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of them lies."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def line(what: str, value: float, unit: str, wanted: str = "") -> None:
    """Print one figure."""
    print(f"{what:<58} {value:9,.1f} {unit}{f'  ({wanted} wanted)' if wanted else ''}", flush=True)
