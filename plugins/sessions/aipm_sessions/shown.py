"""Projects and agents as they are shown, wherever that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aipm_core import Json, Texts
    from aipm_sessions.api import Agent, Project, SessionInfo


def project_shown(project: Project) -> dict[str, Json]:
    """Return a project as JSON."""
    return {
        "id": project.id,
        "name": project.name,
        "directory": str(project.directory) if project.directory else None,
        "paused": project.paused,
        "archived": project.archived,
        "pool": project.pool,
        "created_at": project.created_at,
    }


def agent_shown(agent: Agent, projects: list[str]) -> dict[str, Json]:
    """Return an agent or a person as JSON, with the projects it belongs to."""
    return {
        "id": agent.id,
        "name": agent.name,
        "type": agent.kind,
        "role": agent.role,
        "parent_id": agent.parent_id,
        "projects": projects,
        "created_at": agent.created_at,
    }


def session_shown(info: SessionInfo, *, silent: bool) -> dict[str, Json]:
    """Return an agent's session as JSON."""
    from aipm_core import iso

    return {
        "id": info.session.id,
        "agent_id": info.session.agent_id,
        "project_id": info.session.project_id,
        "purpose": info.session.purpose,
        "created_at": info.created_at,
        "last_seen": iso(info.last_seen),
        "silent": silent,
    }


def print_secret(title: str, name: str, secret: str, text: Texts) -> None:
    """Show a secret to a person, the only time."""
    from aipm_cli.api import pairs, say

    say(title)
    pairs({name: secret})
    say(text("cli.keep_it"))
