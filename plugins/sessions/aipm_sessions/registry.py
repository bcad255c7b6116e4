"""Adds projects, agents and people's tokens. Used by the command line."""

from __future__ import annotations

from pathlib import Path

from aipm_core import CallError, Json, PluginContext, Row, Tx, check_name, iso, new_id
from aipm_core.models import Kind, Role
from aipm_sessions.api import TOKENS_CHANGED, Agent, Project
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import PasskeyChecker, new_secret, token_hash
from aipm_sessions.desk import Desk
from aipm_sessions.directory import SqlDirectory, missing


class Registry:
    """Writes what the directory reads."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        desk: Desk,
        directory: SqlDirectory,
        passkeys: PasskeyChecker,
    ) -> None:
        self._ctx = ctx
        self._desk = desk
        self._directory = directory
        self._passkeys = passkeys

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

    async def tokens(self) -> list[dict[str, Json]]:
        """List people's tokens by what may be shown of them."""
        rows = await self._ctx.store.all("select * from ui_tokens order by created_at")
        return [
            {
                "id": row["id"],
                "agent_id": row["agent_id"],
                "created_at": row["created_at"],
                "expires_at": iso(row["expires_at"]),
                "state": self._state(row),
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
        place = _made(directory) if directory else None

        async def add(tx: Tx) -> None:
            if await self._directory.project(tx, project_id):
                raise _taken(f"project {project_id!r} already exists")
            await tx.run(
                "insert into projects (id, name, directory, created_at) values (?, ?, ?, ?)",
                *(project_id, name, str(place) if place else None, self._ctx.now()),
            )

        await self._ctx.store.write(add)
        found = await self._directory.project(self._ctx.store, project_id)
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
        passkey = new_secret("aipm_pk_")
        stored = await self._passkeys.hash(passkey)

        async def add(tx: Tx) -> Agent:
            if await self._directory.agent(tx, agent_id):
                raise _taken(
                    f"agent {agent_id!r} already exists; "
                    "`aipm agent assign` puts it into one more project"
                )
            if await self._directory.project(tx, project_id) is None:
                raise missing("project", project_id)
            if parent is not None and await self._directory.agent(tx, parent) is None:
                raise missing("agent", parent)
            await tx.run(
                "insert into agents (id, name, kind, role, parent_id, passkey_hash, created_at) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                *(agent_id, name, kind, role, parent, stored, self._ctx.now()),
            )
            await _join(tx, agent_id, project_id)
            agent = await self._directory.agent(tx, agent_id)
            assert agent is not None  # noqa: S101 - inserted above, in this transaction  # nosec B101
            return agent

        return await self._ctx.store.write(add), passkey

    async def assign(self, agent_id: str, project_id: str) -> None:
        """Put an existing agent into one more project."""

        async def add(tx: Tx) -> None:
            if await self._directory.agent(tx, agent_id) is None:
                raise missing("agent", agent_id)
            if await self._directory.project(tx, project_id) is None:
                raise missing("project", project_id)
            await _join(tx, agent_id, project_id)

        await self._ctx.store.write(add)

    async def rekey(self, agent_id: str) -> str:
        """Give an agent a new passkey and end its sessions; the old passkey is worthless."""
        passkey = new_secret("aipm_pk_")
        stored = await self._passkeys.hash(passkey)

        async def change(tx: Tx) -> None:
            changed = await tx.run(
                "update agents set passkey_hash = ? where id = ?", *(stored, agent_id)
            )
            if not changed:
                raise missing("agent", agent_id)
            for row in await tx.all(
                "select id from sessions where agent_id = ? and ended_at is null", agent_id
            ):
                await self._desk.close(tx, row["id"], "revoked")

        await self._ctx.store.write(change)
        return passkey

    async def add_token(self, agent_id: str) -> dict[str, Json]:
        """Make a token for a person's user interface; the token is shown only now."""
        token, token_id = new_secret("aipm_ui_"), new_id("uit")
        expires_at = self._ctx.clock() + self._ctx.config.ui_token_days * 86_400

        async def add(tx: Tx) -> None:
            agent = await self._directory.agent(tx, agent_id)
            if agent is None:
                raise missing("agent", agent_id)
            if agent.kind != "human":
                raise CallError(
                    f"{agent_id!r} is not a human: agents get tokens from the authenticate tool",
                    code="not_a_human",
                    status=403,
                )
            await tx.run(
                "insert into ui_tokens (id, token_hash, agent_id, created_at, expires_at) "
                "values (?, ?, ?, ?, ?)",
                *(token_id, token_hash(token), agent_id, self._ctx.now(), expires_at),
            )

        await self._ctx.store.write(add)
        return {"id": token_id, "agent_id": agent_id, "token": token, "expires_at": iso(expires_at)}

    async def revoke_token(self, token_id: str) -> None:
        """Make a person's token worthless from now on."""
        now = self._ctx.now()

        async def revoke(tx: Tx) -> int:
            tx.wake(TOKENS_CHANGED)
            return await tx.run(
                "update ui_tokens set revoked_at = ? where id = ? and revoked_at is null",
                *(now, token_id),
            )

        if not await self._ctx.store.write(revoke):
            raise missing("token", token_id)


async def _join(tx: Tx, agent_id: str, project_id: str) -> None:
    await tx.run(
        "insert into project_agents (project_id, agent_id) values (?, ?) on conflict do nothing",
        *(project_id, agent_id),
    )


def _made(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CallError(
            f"project directory {directory} cannot be used: {error.strerror}",
            code="invalid_directory",
            status=400,
        ) from error
    return directory.resolve()


def _taken(message: str) -> CallError:
    return CallError(message, code="already_exists", status=409)
