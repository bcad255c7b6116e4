"""Writes projects, agents and people's tokens: for the tools, and for code in this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aipm_core import CallError, Json, Kind, PluginContext, Role, Row, Tx, iso, new_id
from aipm_sessions.agent_tokens import revoke_all
from aipm_sessions.api import (
    TOKENS_CHANGED,
    Agent,
    Project,
    check_name,
    members_topic,
    project_topic,
)
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import PasskeyChecker, new_secret, token_hash
from aipm_sessions.directory import SqlDirectory, missing
from aipm_sessions.passkey_seals import PasskeySeals
from aipm_sessions.project_directories import ProjectDirectories
from aipm_sessions.session_store import SqlSessionStore

_REVOKE = "update ui_tokens set revoked_at = ? where revoked_at is null and "


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """What an agent is made of."""

    id: str
    project_id: str
    name: str
    kind: Kind
    role: Role
    parent: str | None
    passkey_hash: str


class Administration:
    """Writes what the directory reads."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        sessions: SqlSessionStore,
        directory: SqlDirectory,
        passkeys: PasskeyChecker,
        seals: PasskeySeals,
        project_directories: ProjectDirectories,
    ) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._directory = directory
        self._passkeys = passkeys
        self._seals = seals
        self._project_directories = project_directories

    async def projects(self) -> list[Project]:
        """List all projects."""
        return await self._directory.projects(self._ctx.store)

    async def agents(self, project_id: str | None) -> list[tuple[Agent, list[str]]]:
        """List agents with the projects they belong to."""
        db = self._ctx.store
        if project_id is None:
            found = await self._directory.agents(db)
        else:
            if await self._directory.project(db, project_id) is None:
                raise missing("project", project_id)
            found = await self._directory.members(db, project_id)
        return [(agent, await self._directory.projects_of(db, agent.id)) for agent in found]

    async def tokens(self, agent_id: str | None = None) -> list[dict[str, Json]]:
        """List people's tokens by what may be shown of them."""
        rows = await self._ctx.store.all(
            "select * from ui_tokens where agent_id = coalesce(?, agent_id) order by created_at",
            agent_id,
        )
        return [
            {
                "id": row["id"],
                "agent_id": row["agent_id"],
                "created_at": row["created_at"],
                "expires_at": iso(row["expires_at"]),
                "state": self._state(row),
                "kind": "token" if row["idle_seconds"] is None else "sign_in",
                "used_at": row["last_used_at"],
            }
            for row in rows
        ]

    def _state(self, row: Row) -> str:
        if row["revoked_at"]:
            return "revoked"
        return "expired" if self._ctx.clock() >= row["expires_at"] else "valid"

    async def add_project(self, project_id: str, name: str, directory: Path | None) -> Project:
        """Add a project; a directory that does not exist yet is made."""
        check_name(project_id, "project")
        place = await self.place(directory)
        return await self._ctx.store.write(
            lambda tx: self.insert_project(tx, project_id, name, place)
        )

    async def place(self, directory: Path | None, project_id: str | None = None) -> Path | None:
        """Make the directory of a new project, or the next one of ``project_id``, if it may be."""
        if directory is None:
            return None
        await self._project_directories.check(self._ctx.store, _resolved(directory), project_id)
        return _made(directory)

    async def insert_project(
        self, tx: Tx, project_id: str, name: str, place: Path | None
    ) -> Project:
        """Write a new project."""
        if await tx.one("select 1 from projects where id = ?", project_id):
            raise self._ctx.refuse("already_exists", 409, name=project_id)
        if place is not None:
            await self._project_directories.check(
                tx, place
            )  # again: somebody else may have been faster
        await tx.run(
            "insert into projects (id, name, directory, created_at) values (?, ?, ?, ?)",
            *(project_id, name, str(place) if place else None, self._ctx.now()),
        )
        tx.wake(project_topic(project_id))
        found = await self._directory.project(tx, project_id)
        if found is None:
            raise missing("project", project_id)
        return found

    async def add_agent(
        self,
        agent_id: str,
        *,
        project_id: str,
        name: str,
        kind: Kind,
        role: Role,
        parent: str | None,
    ) -> tuple[Agent, str]:
        """Add an agent to a project; return it and its passkey, which is shown only now."""
        check_name(agent_id, "agent")
        passkey, stored = await self.new_passkey(agent_id)
        new = NewAgent(
            id=agent_id,
            project_id=project_id,
            name=name,
            kind=kind,
            role=role,
            parent=parent,
            passkey_hash=stored,
        )
        return await self._ctx.store.write(lambda tx: self.insert_agent(tx, new)), passkey

    async def new_passkey(self, agent_id: str) -> tuple[str, str]:
        """Make a passkey; return it and what is stored of it."""
        passkey = await self._seals.passkey(agent_id)
        return passkey, await self._passkeys.hash(passkey)

    async def insert_agent(self, tx: Tx, new: NewAgent) -> Agent:
        """Write a new agent and put it into its project."""
        if await tx.one("select 1 from agents where id = ?", new.id):
            text = self._ctx.texts("errors.agent_exists", name=new.id)
            raise CallError(text, code="already_exists", status=409)
        if await self._directory.project(tx, new.project_id) is None:
            raise missing("project", new.project_id)
        if new.parent is not None and await self._directory.agent(tx, new.parent) is None:
            raise missing("agent", new.parent)
        await tx.run(
            "insert into agents (id, name, kind, role, parent_id, passkey_hash, created_at) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            *(new.id, new.name, new.kind, new.role, new.parent, new.passkey_hash),
            self._ctx.now(),
        )
        await self.join(tx, new.id, new.project_id)
        agent = await self._directory.agent(tx, new.id)
        assert agent is not None  # noqa: S101 - inserted above, in this transaction  # nosec B101
        return agent

    async def assign(self, agent_id: str, project_id: str) -> None:
        """Put an existing agent into one more project."""

        async def add(tx: Tx) -> None:
            if await self._directory.agent(tx, agent_id) is None:
                raise missing("agent", agent_id)
            if await self._directory.project(tx, project_id) is None:
                raise missing("project", project_id)
            await self.join(tx, agent_id, project_id)

        await self._ctx.store.write(add)

    async def rekey(self, agent_id: str) -> str:
        """Give an agent a new passkey; the old one, its sessions and its tokens are worthless."""
        passkey, stored = await self.new_passkey(agent_id)
        await self._ctx.store.write(lambda tx: self.change_passkey(tx, agent_id, stored))
        return passkey

    async def change_passkey(self, tx: Tx, agent_id: str, stored: str) -> None:
        """Write an agent's new passkey, and end what the old one opened."""
        changed = await tx.run(
            "update agents set passkey_hash = ? where id = ?", *(stored, agent_id)
        )
        if not changed:
            raise missing("agent", agent_id)
        await self.end_all(tx, agent_id)

    async def end_all(self, tx: Tx, agent_id: str) -> None:
        """End every session and token of an agent."""
        for row in await tx.all(
            "select id from sessions where agent_id = ? and ended_at is null", agent_id
        ):
            await self._sessions.close(tx, row["id"], "revoked")
        await tx.run(_REVOKE + "agent_id = ?", self._ctx.now(), agent_id)
        await revoke_all(tx, agent_id, self._ctx.now())
        tx.wake(TOKENS_CHANGED)

    async def add_token(self, agent_id: str) -> dict[str, Json]:
        """Make a token for a person's user interface; the token is shown only now."""
        return await self._ctx.store.write(lambda tx: self.insert_token(tx, agent_id))

    async def insert_token(
        self, tx: Tx, agent_id: str, *, days: float | None = None
    ) -> dict[str, Json]:
        """Write a new token of a person."""
        token, token_id = new_secret("aipm_ui_"), new_id("uit")
        expires_at = self._ctx.clock() + (days or self._ctx.config.ui_token_days) * 86_400
        agent = await self._directory.agent(tx, agent_id)
        if agent is None:
            raise missing("agent", agent_id)
        if agent.kind != "human":
            raise self._ctx.refuse("not_a_human", 403, agent=agent_id)
        await tx.run(
            "insert into ui_tokens (id, token_hash, agent_id, created_at, expires_at) "
            "values (?, ?, ?, ?, ?)",
            *(token_id, token_hash(token), agent_id, self._ctx.now(), expires_at),
        )
        return {"id": token_id, "agent_id": agent_id, "token": token, "expires_at": iso(expires_at)}

    async def revoke_token(self, token_id: str) -> None:
        """Make a person's token worthless from now on."""
        await self._ctx.store.write(lambda tx: self.revoke(tx, token_id))

    async def revoke(self, tx: Tx, token_id: str) -> None:
        """Write that a token is worthless; ``token_not_found`` if it is none, or was before."""
        tx.wake(TOKENS_CHANGED)
        if not await tx.run(_REVOKE + "id = ?", self._ctx.now(), token_id):
            raise missing("token", token_id)

    async def join(self, tx: Tx, agent_id: str, project_id: str) -> None:
        """Write that an agent belongs to a project."""
        await tx.run(
            "insert into project_agents (project_id, agent_id) values (?, ?) "
            "on conflict do nothing",
            *(project_id, agent_id),
        )
        tx.wake(members_topic(project_id))


def _made(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(directory, error.strerror) from error
    return _resolved(directory)


def _resolved(directory: Path) -> Path:
    try:
        return directory.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before Python 3.13
        raise _unusable(directory, "its links lead nowhere") from error


def _unusable(directory: Path, why: str | None) -> CallError:
    return CallError(
        f"project directory {directory} cannot be used: {why}",
        code="invalid_directory",
        status=400,
    )
