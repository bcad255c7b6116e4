"""``aipm project``, ``aipm agent`` and ``aipm token``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_core.commands import AsJson, Config, pairs, say, show, table, with_service

if TYPE_CHECKING:
    from aipm_core import ServiceKey
    from aipm_sessions.api import Agent, Project
    from aipm_sessions.registry import Registry

project = typer.Typer(help="Projects agents work on.", rich_markup_mode=None, no_args_is_help=True)
agent = typer.Typer(help="Agents and people.", rich_markup_mode=None, no_args_is_help=True)
token = typer.Typer(
    help="Tokens for people's user interfaces.", rich_markup_mode=None, no_args_is_help=True
)


class Kind(StrEnum):
    """What an agent is."""

    ai = "ai"
    human = "human"


class Role(StrEnum):
    """What an agent may do."""

    manager = "manager"
    worker = "worker"


ProjectId = Annotated[str, typer.Option("--project", help="The project's id.")]


@project.command("add")
def add_project(
    id: Annotated[str, typer.Argument(help="a-z, 0-9, '-' and '_'.")],  # noqa: A002
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Working directory; chat files go there.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name to show.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add a project."""
    made = with_service(
        config, _registry, lambda registry, _: registry.add_project(id, name or id, directory)
    )
    data = _project(made)
    show(data, as_json=as_json, human=lambda: say(f"added project {id}"))


@project.command("list")
def list_projects(config: Config = None, as_json: AsJson = False) -> None:
    """List projects."""
    found = with_service(config, _registry, lambda registry, _: registry.projects())
    rows = [_project(item) for item in found]
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            ("project", "name", "directory"),
            ((r["id"], r["name"], r["directory"]) for r in rows),
            empty="no project yet; `aipm project add ID --dir PATH` adds one",
        ),
    )


@agent.command("add")
def add_agent(
    id: Annotated[str, typer.Argument(help="a-z, 0-9, '-' and '_'.")],  # noqa: A002
    project_id: ProjectId,
    kind: Annotated[Kind, typer.Option("--type", help="An AI or a person.")] = Kind.ai,
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.worker,
    parent: Annotated[str | None, typer.Option(help="Who stands above it.")] = None,
    name: Annotated[str | None, typer.Option(help="Name to show.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add an agent or a person; the passkey is shown once."""
    made, passkey = with_service(
        config,
        _registry,
        lambda registry, _: registry.add_agent(
            id,
            project_id=project_id,
            name=name or id,
            kind=kind.value,
            role=role.value,
            parent=parent,
        ),
    )
    data = {**_agent(made, [project_id]), "passkey": passkey}
    show(data, as_json=as_json, human=lambda: _print_secret(f"added {id}", "passkey", passkey))


@agent.command("assign")
def assign(
    id: Annotated[str, typer.Argument(help="An existing agent.")],  # noqa: A002
    project_id: ProjectId,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Put an existing agent into one more project."""
    with_service(config, _registry, lambda registry, _: registry.assign(id, project_id))
    data = {"id": id, "project_id": project_id}
    show(data, as_json=as_json, human=lambda: say(f"{id} now also works on {project_id}"))


@agent.command("rekey")
def rekey(
    id: Annotated[str, typer.Argument(help="An existing agent.")],  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Give an agent a new passkey, shown once; the old one and its sessions end."""
    passkey = with_service(config, _registry, lambda registry, _: registry.rekey(id))
    data = {"id": id, "passkey": passkey}
    show(data, as_json=as_json, human=lambda: _print_secret(f"{id} again", "passkey", passkey))


@agent.command("list")
def list_agents(
    project_id: Annotated[
        str | None, typer.Option("--project", help="Only of one project.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List agents and people."""
    found = with_service(config, _registry, lambda registry, _: registry.agents(project_id))
    rows = [_agent(item, projects) for item, projects in found]
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            ("agent", "name", "type", "role", "parent", "projects"),
            (
                (r["id"], r["name"], r["type"], r["role"], r["parent_id"], ", ".join(r["projects"]))
                for r in rows
            ),
            empty="no agent yet; `aipm agent add ID --project P` adds one",
        ),
    )


@token.command("create")
def create_token(
    agent_id: Annotated[str, typer.Option("--agent", help="A person.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a user-interface token for a person; it is shown once."""
    data = with_service(config, _registry, lambda registry, _: registry.add_token(agent_id))
    human = f"token {data['id']} for {agent_id}"
    show(data, as_json=as_json, human=lambda: _print_secret(human, "token", data["token"]))


@token.command("list")
def list_tokens(config: Config = None, as_json: AsJson = False) -> None:
    """List user-interface tokens, without their secrets."""
    rows = with_service(config, _registry, lambda registry, _: registry.tokens())
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            ("token", "agent", "created", "state"),
            ((r["id"], r["agent_id"], r["created_at"], r["state"]) for r in rows),
            empty="no token yet; `aipm token create --agent HUMAN` makes one",
        ),
    )


@token.command("revoke")
def revoke_token(
    id: Annotated[str, typer.Argument(help="The token's id.")],  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a token worthless from now on."""
    with_service(config, _registry, lambda registry, _: registry.revoke_token(id))
    show({"id": id}, as_json=as_json, human=lambda: say(f"revoked {id}"))


def _registry() -> ServiceKey[Registry]:
    from aipm_sessions.plugin import REGISTRY

    return REGISTRY


def _project(item: Project) -> dict[str, Any]:
    directory = str(item.directory) if item.directory else None
    return {
        "id": item.id,
        "name": item.name,
        "directory": directory,
        "created_at": item.created_at,
    }


def _agent(item: Agent, projects: list[str]) -> dict[str, Any]:
    return {
        "id": item.id,
        "name": item.name,
        "type": item.kind,
        "role": item.role,
        "parent_id": item.parent_id,
        "projects": projects,
        "created_at": item.created_at,
    }


def _print_secret(title: str, name: str, secret: str) -> None:
    say(title)
    pairs({name: secret})
    say("Keep it now: only a hash is stored, and it is never shown again.")
