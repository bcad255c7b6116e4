"""``aipm agent``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    call_tool,
    say,
    show,
    table,
    with_people,
    words,
)

from aipm_sessions.agent_options import (
    Budget,
    Model,
    Program,
    PromptFile,
    RoleText,
    Workspace,
    agent_fields,
)
from aipm_sessions.agent_token_commands import add_to
from aipm_sessions.shown import print_secret

_PACKAGE = "aipm_sessions"
agent = typer.Typer(help="Agents and people.", rich_markup_mode=None, no_args_is_help=True)


class Kind(StrEnum):
    """What an agent is."""

    ai = "ai"
    human = "human"


class Role(StrEnum):
    """What an agent may do."""

    manager = "manager"
    worker = "worker"


AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="An agent or a person.")]
ProjectId = Annotated[str, typer.Option("--project", help="The project's id.")]


@agent.command("add")
def add_agent(
    id: Annotated[str, typer.Argument(metavar="ID", help="a-z, 0-9, '-' and '_'.")],  # noqa: A002
    project_id: ProjectId,
    kind: Annotated[Kind, typer.Option("--type", help="An AI or a person.")] = Kind.ai,
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.worker,
    parent: Annotated[str | None, typer.Option(help="Who stands above it.")] = None,
    name: Annotated[str | None, typer.Option(help="Name to show.")] = None,
    program: Program = None,
    model: Model = None,
    prompt_file: PromptFile = None,
    role_text: RoleText = None,
    workspace: Workspace = None,
    budget: Budget = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add an agent or a person; the passkey is shown once."""
    about: dict[str, Any] = {"type": kind.value, "role": role.value, "parent_id": parent}
    about |= agent_fields(program, model, prompt_file, role_text, workspace, budget)
    made = call_tool(config, "add_agent", agent_id=id, project_id=project_id, name=name, **about)
    text, passkey = words(_PACKAGE, config), made["passkey"]
    title = text("cli.agent_added", agent=id)
    data = {**made["agent"], "passkey": passkey}
    show(data, as_json=as_json, human=lambda: print_secret(title, "passkey", passkey, text))


@agent.command("edit")
def edit_agent(
    id: AgentId,  # noqa: A002
    name: Annotated[str | None, typer.Option(help="Name to show.")] = None,
    role: Annotated[Role | None, typer.Option(help="What it may do.")] = None,
    parent: Annotated[str | None, typer.Option(help="Who stands above it.")] = None,
    program: Program = None,
    model: Model = None,
    prompt_file: PromptFile = None,
    role_text: RoleText = None,
    workspace: Workspace = None,
    budget: Budget = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Change what an agent is called, may do and is run with; earlier failures count no more."""
    given = {"name": name, "role": role.value if role else None, "parent_id": parent}
    fields = {k: v for k, v in given.items() if v is not None}
    fields |= agent_fields(program, model, prompt_file, role_text, workspace, budget)
    if not fields:
        raise typer.BadParameter("name at least one thing to change")

    async def work(people: People) -> None:
        place = await _project_of(people, id)
        await people.call("edit_agent", agent_id=id, project_id=place, **fields)

    with_people(config, work)
    text = words(_PACKAGE, config)
    show({"id": id, **fields}, as_json=as_json, human=lambda: say(text("cli.changed", name=id)))


@agent.command("assign")
def assign(
    id: AgentId,  # noqa: A002
    project_id: ProjectId,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Put an existing agent into one more project."""
    call_tool(config, "assign_agent", agent_id=id, project_id=project_id)
    _tell(config, "agent_assigned", id, project_id, as_json=as_json)


@agent.command("unassign")
def unassign(
    id: AgentId,  # noqa: A002
    project_id: ProjectId,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Take an agent out of a project: its sessions there end, its open tasks are nobody's."""
    call_tool(config, "unassign_agent", agent_id=id, project_id=project_id)
    _tell(config, "agent_unassigned", id, project_id, as_json=as_json)


@agent.command("remove")
def remove(id: AgentId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Remove an agent or a person from everything, for good."""
    call_tool(config, "remove_agent", agent_id=id)
    text = words(_PACKAGE, config)
    show({"id": id}, as_json=as_json, human=lambda: say(text("cli.agent_removed", agent=id)))


@agent.command("rekey")
def rekey(id: AgentId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Give an agent a new passkey, shown once; the old one, its sessions and tokens end."""

    async def work(people: People) -> str:
        place = await _project_of(people, id)
        made = await people.call("rekey_agent", agent_id=id, project_id=place)
        return str(made["passkey"])

    passkey, text = with_people(config, work), words(_PACKAGE, config)
    title, data = text("cli.agent_rekeyed", agent=id), {"id": id, "passkey": passkey}
    show(data, as_json=as_json, human=lambda: print_secret(title, "passkey", passkey, text))


@agent.command("list")
def list_agents(
    project_id: Annotated[
        str | None, typer.Option("--project", help="Only of one project.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List agents and people."""
    rows = call_tool(config, "list_agents", project_id=project_id)["agents"]
    text = words(_PACKAGE, config)
    names = ("agent", "name", "type", "role", "parent", "projects")
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            [text(f"cli.heads.{name}") for name in names],
            (
                (r["id"], r["name"], r["type"], r["role"], r["parent_id"], ", ".join(r["projects"]))
                for r in rows
            ),
            empty=text("cli.no_agent"),
        ),
    )


def _tell(config: Path | None, key: str, agent_id: str, project_id: str, *, as_json: bool) -> None:
    line = words(_PACKAGE, config)(f"cli.{key}", agent=agent_id, project=project_id)
    data = {"id": agent_id, "project_id": project_id}
    show(data, as_json=as_json, human=lambda: say(line))


async def _project_of(people: People, agent_id: str) -> str:
    """Find a project in which an agent can be named."""
    from aipm_core import CallError

    agents = (await people.call("list_agents"))["agents"]
    for one in agents:
        if one["id"] == agent_id and one["projects"]:
            return str(one["projects"][0])
    raise CallError(f"there is no agent {agent_id!r}", code="agent_not_found", status=404)


add_to(agent)
