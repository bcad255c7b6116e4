"""``aipm connect``: an agent's program finds aipm, with a token that works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    call_tool,
    load_settings,
    say,
    settings_file,
    show,
    target,
    words,
)

from aipm_mcp_transport.commands import Client, address, program

if TYPE_CHECKING:
    from aipm_mcp_transport.snippets import Target

_PACKAGE = "aipm_mcp_transport"


def connect(
    client: Annotated[Client, typer.Argument(metavar="CLIENT", help="The agent's program.")],
    agent: Annotated[str | None, typer.Option(help="The agent it shall be.")] = None,
    project: Annotated[str | None, typer.Option(help="The project it works on.")] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Over HTTP to a running server, not over stdio.")
    ] = False,
    directory: Annotated[
        Path, typer.Option("--dir", help="Where the program is started [default: here].")
    ] = Path(),
    print_only: Annotated[
        bool, typer.Option("--print", help="Show what would be written; write nothing.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write the settings an agent's program needs to be one of the team."""
    from aipm_mcp_transport.snippets import snippet_for

    if (agent is None) != (project is None):
        raise typer.BadParameter("--agent and --project go together")
    if not directory.is_dir():
        raise typer.BadParameter(f"{directory} is no directory", param_hint="--dir")
    over_http = http or target().server is not None
    name = f"{agent}@{project}" if agent else None
    where = _http(config) if over_http else _stdio(config, client, directory, name)
    if print_only:
        made = snippet_for(client.value, _with_token(where, "…" if name else None))
        data = {"file": str(_file(client, directory)), "snippet": made.snippet}
        show(data, as_json=as_json, human=lambda: say(made.snippet))
        return
    _write(client, where, directory, (agent, project), config, as_json=as_json)


def _write(
    client: Client,
    where: Target,
    directory: Path,
    who: tuple[str | None, str | None],
    config: Path | None,
    *,
    as_json: bool,
) -> None:
    from aipm_mcp_transport import client_settings
    from aipm_mcp_transport.snippets import snippet_for

    file, (agent, project) = _file(client, directory), who
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    client_settings.merged(before, snippet_for(client.value, where), file)  # before any token
    token = None
    if agent is not None:
        token = str(
            call_tool(config, "create_agent_token", agent_id=agent, project_id=project)["token"]
        )
        if where.url is None:
            client_settings.write_token(directory, f"{agent}@{project}", token)
    secret = token if where.url is not None else None
    made = snippet_for(client.value, _with_token(where, secret))
    text = client_settings.merged(before, made, file)
    backup = client_settings.write(file, text, private=secret is not None)
    if secret is not None:
        client_settings.keep_out_of_git(file)
    data = {"client": client.value, "file": str(file), "agent": agent, "project": project}
    data["backup"] = str(backup) if backup else None
    note = "holds_token" if secret is not None else _note(client, where)
    show(data, as_json=as_json, human=lambda: _tell(data, config, note))


def _note(client: Client, where: Target) -> str | None:
    """Say that settings may be shared where that is true: no place of this machine alone."""
    whole = [word for word in (where.command, *where.arguments) if Path(word).is_absolute()]
    return None if client is Client.codex or where.url is not None or whole else "may_be_shared"


def _tell(data: dict[str, Any], config: Path | None, note: str | None) -> None:
    text = words(_PACKAGE, config)
    say(text("cli.wrote", file=data["file"]))
    if data["backup"]:
        say(text("cli.backup", file=data["backup"]))
    if note is not None:
        say(text(f"cli.{note}", file=data["file"]))
    say(text(f"cli.start.{data['client']}"))


def _with_token(where: Target, token: str | None) -> Target:
    from dataclasses import replace

    return replace(where, token=token) if where.url is not None else where


def _http(config: Path | None) -> Target:
    from aipm_mcp_transport.snippets import Target

    if (server := target().server) is not None:
        return Target(program(), (), f"{server.rstrip('/')}/mcp")
    return Target(program(), (), address(load_settings(config)))


def _stdio(config: Path | None, client: Client, directory: Path, name: str | None) -> Target:
    from aipm_mcp_transport.snippets import Target

    place = directory.resolve()
    if client is Client.codex:  # its settings are for all directories, so they name places whole

        def named(path: Path) -> str:
            return str(path)

    else:

        def named(path: Path) -> str:
            return os.path.relpath(path, place)

    words_ = ["mcp", "--config", named(settings_file(config).resolve())]
    if name is not None:
        words_ += ["--token-file", named(place / ".aipm" / f"{name}.token")]
    return Target(_command(place, client), tuple(words_), in_file=name is not None)


def _command(place: Path, client: Client) -> str:
    """Name the program so that it is found where the settings are shared."""
    from shutil import which

    whole = Path(program())
    if client is Client.codex:
        return str(whole)
    if whole.is_relative_to(place):
        return f"./{whole.relative_to(place)}"
    found = which("aipm")
    return "aipm" if found and Path(found).resolve() == whole.resolve() else str(whole)


def _file(client: Client, directory: Path) -> Path:
    """Name the settings file of a program."""
    if client is Client.codex:
        home = os.environ.get("CODEX_HOME", "").strip()
        return (Path(home) if home else Path.home() / ".codex") / "config.toml"
    inside = {
        Client.claude: ".mcp.json",
        Client.gemini: ".gemini/settings.json",
        Client.opencode: "opencode.json",
        Client.cursor: ".cursor/mcp.json",
        Client.vscode: ".vscode/mcp.json",
    }
    return directory / inside[client]
