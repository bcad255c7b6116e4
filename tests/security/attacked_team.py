"""Two projects with people and agents in them, made once and then attacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from aipm_devkit.program import Install, Server
from aipm_devkit.testing import running
from aipm_sessions.administration import Administration
from aipm_sessions.plugin import ADMINISTRATION, Sessions

from tests.agents import Agent

DATABASE = ".aipm-data/aipm.db"
# id: project, kind, role, parent
_AGENTS = {
    "boss": ("p", "ai", "manager", None),
    "ann": ("p", "ai", "worker", "boss"),
    "bob": ("p", "ai", "worker", "boss"),
    "ivy": ("p", "ai", "worker", "boss"),
    "cora": ("p", "ai", "worker", "boss"),
    "rex": ("p", "ai", "worker", "boss"),
    "mona": ("p", "ai", "manager", None),
    "mia": ("p", "human", "worker", None),
    "max": ("p", "human", "worker", None),
    "mary": ("p", "human", "manager", None),
    "quinn": ("q", "ai", "manager", None),
    "qed": ("q", "ai", "worker", "quinn"),
    "quentin": ("q", "human", "manager", None),
}


@dataclass
class AttackedTeam:
    """An installation with its secrets, and sessions opened when they are needed."""

    install: Install
    passkeys: dict[str, str]
    tokens: dict[str, str]
    token_ids: dict[str, str]
    server: Server

    @property
    def database(self) -> Path:
        return self.install.root / DATABASE

    @staticmethod
    def project_of(agent_id: str) -> str:
        return _AGENTS[agent_id][0]

    def session(self, agent_id: str, purpose: str) -> Agent:
        """Open a session."""
        made = Agent(self.server.mcp)
        login = {"agent_id": agent_id, "passkey": self.passkeys[agent_id], "purpose": purpose}
        project = self.project_of(agent_id)
        made.token = made.result("authenticate", **login, project_id=project)["session_token"]
        return made


@contextmanager
def serving(root: Path, toml: str = "", *, faulty: bool = False) -> Iterator[AttackedTeam]:
    """Set up the cast below ``root`` and run the real server for it, which makes no error."""
    install = Install.make(root, toml)
    passkeys, tokens = anyio.run(_hired, root)
    with install.up() as server:
        yield AttackedTeam(
            install,
            passkeys,
            {name: made["token"] for name, made in tokens.items()},
            {name: made["id"] for name, made in tokens.items()},
            server,
        )
    assert faulty or "Traceback" not in server.log, server.log


async def _hired(root: Path) -> tuple[dict[str, str], dict[str, Any]]:
    passkeys: dict[str, str] = {}
    async with running(Sessions, data_dir=root / ".aipm-data") as aipm:
        administration: Administration = aipm.runtime.services.use(ADMINISTRATION)
        for project in ("p", "q"):
            await administration.add_project(project, project, root / project)
        for name, (project, kind, role, parent) in _AGENTS.items():
            about: dict[str, Any] = {"kind": kind, "role": role, "parent": parent}
            made = await administration.add_agent(name, project_id=project, name=name, **about)
            passkeys[name] = made[1]
        people = [name for name, about in _AGENTS.items() if about[1] == "human"]
        # "expired" and "revoked" are more tokens of mia's.
        owners = {name: name for name in people} | {"expired": "mia", "revoked": "mia"}
        tokens = {name: await administration.add_token(owner) for name, owner in owners.items()}
        await administration.revoke_token(str(tokens["revoked"]["id"]))
    return passkeys, tokens
