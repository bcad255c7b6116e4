"""Reads projects and agents."""

from __future__ import annotations

from pathlib import Path

from aipm_core import CallError, Reader, Row, Session
from aipm_sessions.api import Agent, Project, is_operator

_PROJECTS = (
    "select p.*, exists (select 1 from project_pauses x where x.project_id = p.id) as paused "
    "from projects p where p.removed_at is null"
)
_MEMBERS = (
    "select a.* from agents a join project_agents p on p.agent_id = a.id "
    "where p.project_id = ? order by a.id"
)


class SqlDirectory:
    """The directory service. It keeps nothing: every answer is read where it is asked."""

    async def project(self, db: Reader, project_id: str) -> Project | None:
        """Find a project."""
        row = await db.one(f"{_PROJECTS} and p.id = ?", project_id)
        return _project(row) if row else None

    async def agent(self, db: Reader, agent_id: str) -> Agent | None:
        """Find an agent."""
        row = await db.one("select * from agents where id = ? and removed_at is null", agent_id)
        return _agent(row) if row else None

    async def projects(self, db: Reader) -> list[Project]:
        """List all projects, by id."""
        return [_project(row) for row in await db.all(f"{_PROJECTS} order by p.id")]

    async def agents(self, db: Reader) -> list[Agent]:
        """List all agents, by id."""
        return [
            _agent(row)
            for row in await db.all("select * from agents where removed_at is null order by id")
        ]

    async def members(self, db: Reader, project_id: str) -> list[Agent]:
        """List the agents of a project, by id."""
        return [_agent(row) for row in await db.all(_MEMBERS, project_id)]

    async def projects_of(self, db: Reader, agent_id: str) -> list[str]:
        """List the ids of the projects an agent belongs to."""
        rows = await db.all(
            "select project_id from project_agents where agent_id = ? order by project_id",
            agent_id,
        )
        return [row["project_id"] for row in rows]

    async def is_member(self, db: Reader, agent_id: str, project_id: str) -> bool:
        """Return whether an agent belongs to a project."""
        sql = "select 1 from project_agents where project_id = ? and agent_id = ?"
        return await db.one(sql, project_id, agent_id) is not None

    async def reach(self, db: Reader, person: Session) -> list[str]:
        """List the ids of the projects a person may look into; the operator into all."""
        if is_operator(person):
            return [project.id for project in await self.projects(db)]
        return await self.projects_of(db, person.agent_id)

    async def is_ancestor(self, db: Reader, upper: str, lower: str) -> bool:
        """Walk up the parents of ``lower``; a circle in the data ends the walk."""
        seen = {lower}
        agent = await self.agent(db, lower)
        while agent is not None and agent.parent_id is not None and agent.parent_id not in seen:
            if agent.parent_id == upper:
                return True
            seen.add(agent.parent_id)
            agent = await self.agent(db, agent.parent_id)
        return False


def _project(row: Row) -> Project:
    directory = row["directory"]
    return Project(
        id=row["id"],
        name=row["name"],
        directory=Path(directory) if directory else None,
        created_at=row["created_at"],
        paused=bool(row["paused"]),
        archived=row["archived_at"] is not None,
        pool=bool(row["pool"]),
    )


def _agent(row: Row) -> Agent:
    return Agent(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        role=row["role"],
        parent_id=row["parent_id"],
        created_at=row["created_at"],
    )


def missing(what: str, name: str) -> CallError:
    """Say to whoever has the command line that something does not exist."""
    return CallError(f"there is no {what} {name!r}", code=f"{what}_not_found", status=404)
