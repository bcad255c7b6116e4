"""What each agent program wants to read in its own settings file.

A program starts servers in a directory and with a PATH of its own choice, so paths are absolute;
the token comes from the environment and is never written down.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aipm_core import Json

TOKEN = "AIPM_SESSION_TOKEN"  # noqa: S105 - the variable's name  # nosec B105
_CALL_TIMEOUT_SECONDS = 330  # a call may wait for a person's confirmation


@dataclass(frozen=True, slots=True)
class Target:
    """How aipm is reached: the command that serves stdio, or the address of a server.

    ``token`` is an agent's own, written down for a program that connects over HTTP; ``in_file``
    says that the command reads it from a file. Without either it comes from the environment.
    """

    command: str
    arguments: tuple[str, ...]
    url: str | None = None
    token: str | None = None
    in_file: bool = False


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a settings file, and where it goes."""

    client: str
    format: Literal["json", "toml"]
    file: str
    snippet: str


def snippet_for(client: str, target: Target) -> Snippet:
    """Return what goes into the settings file of ``client``."""
    file, make = _CLIENTS[client]
    made = make(target)
    if isinstance(made, str):
        return Snippet(client, "toml", file, made)
    return Snippet(client, "json", file, json.dumps(made, indent=2, ensure_ascii=False))


def _claude(target: Target) -> Json:
    # With ":-" an unset variable is empty; without, its name would be sent as the token.
    place = f"${{{TOKEN}:-}}"
    return {"mcpServers": {"aipm": _typed(target, place)}}


def _cursor(target: Target) -> Json:
    place = f"${{env:{TOKEN}}}"
    entry = _typed(target, place)
    if target.url is not None:
        del entry["type"]
    return {"mcpServers": {"aipm": entry}}


def _vscode(target: Target) -> Json:
    place = "aipm-session-token"
    if target.token is not None or target.in_file:
        return {"servers": {"aipm": _typed(target, "")}}
    question = {
        "type": "promptString",
        "id": place,
        "description": "aipm session token (empty: the agent authenticates with its passkey)",
        "password": True,  # says that it is one  # nosec B105
    }
    return {"servers": {"aipm": _typed(target, f"${{input:{place}}}")}, "inputs": [question]}


def _gemini(target: Target) -> Json:
    place = f"${{{TOKEN}}}"
    if target.url is None:
        entry = _started(target, place)
    else:
        # Its plain "url" means the old two-endpoint transport.
        entry = {"httpUrl": target.url, "headers": _bearer(target, place)}
    return {"mcpServers": {"aipm": {**entry, "timeout": _CALL_TIMEOUT_SECONDS * 1000}}}


def _opencode(target: Target) -> Json:
    place = f"{{env:{TOKEN}}}"
    entry: dict[str, Json] = {"enabled": True}
    if target.url is None:
        entry |= {"type": "local", "command": [target.command, *target.arguments]}
        entry |= {} if target.in_file else {"environment": {TOKEN: place}}
    else:
        entry |= {"type": "remote", "url": target.url, "headers": _bearer(target, place)}
    return {"mcp": {"aipm": {**entry, "timeout": _CALL_TIMEOUT_SECONDS * 1000}}}


def _codex(target: Target) -> Json:
    if target.url is not None:
        lines = [f"url = {json.dumps(target.url)}"]
        if target.token is not None:
            header = json.dumps(f"Bearer {target.token}")
            lines.append(f'http_headers = {{ "Authorization" = {header} }}')
        # A variable that is not set would leave Codex without any of our tools, and silently.
    else:
        lines = [
            f"command = {json.dumps(target.command, ensure_ascii=False)}",
            f"args = {json.dumps(list(target.arguments), ensure_ascii=False)}",
        ]
        lines += [] if target.in_file else [f"env_vars = [{json.dumps(TOKEN)}]"]
    return "\n".join(["[mcp_servers.aipm]", *lines, f"tool_timeout_sec = {_CALL_TIMEOUT_SECONDS}"])


def _typed(target: Target, place: str) -> dict[str, Json]:
    if target.url is None:
        return {"type": "stdio", **_started(target, place)}
    return {"type": "http", "url": target.url, "headers": _bearer(target, place)}


def _started(target: Target, place: str) -> dict[str, Json]:
    entry: dict[str, Json] = {"command": target.command, "args": list(target.arguments)}
    return entry if target.in_file else {**entry, "env": {TOKEN: place}}


def _bearer(target: Target, place: str) -> dict[str, Json]:
    return {"Authorization": f"Bearer {target.token or place}"}


_CLIENTS: dict[str, tuple[str, Callable[[Target], Json]]] = {
    "claude": (".mcp.json", _claude),
    "codex": ("~/.codex/config.toml", _codex),
    "gemini": ("~/.gemini/settings.json", _gemini),
    "opencode": ("opencode.json", _opencode),
    "cursor": (".cursor/mcp.json", _cursor),
    "vscode": (".vscode/mcp.json", _vscode),
}
