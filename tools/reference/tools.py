"""docs/reference/tools.md: every tool, its names, who may call it, what it takes and refuses."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings

from aipm_core import AnyTool
from aipm_core.pipeline.registered import Registered
from aipm_core.texts import Locale
from tools.reference.markdown import cell, code, literal, page, table
from tools.reference.reach import codes_of

INTRODUCTION = """\
What agents can call over MCP, with every plugin on. All but those for *anybody* take one more
argument, `session_token`, which may be left out when the connection carries the token (the header
`Authorization: Bearer …`, or `AIPM_SESSION_TOKEN` for stdio). Arguments in **bold** are required;
unknown ones are refused.

A reply is `{"result": …, "notification": …}`, the same object as text and as `structuredContent`.
While an interrupt is unread it is replaced by one text, and no tool runs; exempt are
`get_notifications`, `report_completed`, `logout` and `help`.

Every tool may also answer with the [errors](errors.md) of the way to it: `authentication_required`,
`session_invalid`, `session_token_mismatch`, `invalid_arguments`, `rate_limited`, `tool_disabled`,
`internal_error`, `store_unavailable`; with a [rule](settings.md#pluginspolicyrules) on it,
`denied_by_policy`, `confirmation_denied`, `confirmation_expired`, `no_confirmer` and
`server_stopping`. *Refuses with* lists what comes on top, found by following the source; it may
hold one too many.
"""
PEOPLE = """\
## Tools of people
What people do: in the page, over `POST /api/tools/{name}`, as a command of a WebSocket. The token
is in the header; `Idempotency-Key` (a command's id) makes a repetition have no second effect. A
project the caller does not belong to answers `project_not_found`, as one that does not exist.
"""
LOOP = """\
## Tools of the agent in the server
Only the agent of people's interfaces (`agent_loop`) has these; they are not offered over MCP.
"""
NATIVE = """\
## Tools of the agents' programs
What programs like Claude Code, Codex or Gemini CLI do by themselves, under one name for all of
them. Nobody calls these; a program that the runner started is asked about each use, which then
passes gates, rules, confirmation and audit as any other call. Rules see `command`, `path` and `url`
and whatever else the program tells.
"""
_WHO = {
    "any": "anybody",
    "auth": "any session",
    "task": "task sessions",
    "chat": "chat sessions",
    "manager": "managers",
    "person": "every person",
}
_WHO_FAILS = {
    "task": {"task_session_required"},
    "chat": {"chat_session_required"},
    "manager": {"manager_required"},
}


def write() -> str:
    """Return the page as it should be."""
    ja, en = _catalog("ja"), _catalog("en")
    names = sorted(en, key=lambda name: (en[name].plugin, name))
    agents, people, others, native = (
        [name for name in names if en[name].tool.audience == audience]
        for audience in ("agent", "ui", "in_process", "native")
    )
    return page(
        "Tools",
        INTRODUCTION,
        _overview(agents, ja, en),
        *(_section(ja[name], en[name]) for name in agents),
        PEOPLE,
        _overview(people, ja, en),
        *(_section(ja[name], en[name]) for name in people),
        LOOP,
        *(_section(ja[name], en[name]) for name in others),
        NATIVE,
        *(_section(ja[name], en[name]) for name in native),
    )


def _overview(names: list[str], ja: dict[str, Registered], en: dict[str, Registered]) -> str:
    return table(
        ("tool", "日本語", "for", "plugin"),
        [
            (
                f"[{code(en[name].tool.name)}](#{_anchor(en[name].tool)})",
                ja[name].tool.title,
                _who(en[name]),
                en[name].plugin,
            )
            for name in names
        ],
    )


def _catalog(locale: Locale) -> dict[str, Registered]:
    async def ask() -> dict[str, Registered]:
        with tempfile.TemporaryDirectory() as place:
            settings = Settings(data_dir=Path(place) / "data", locale=locale)
            async with open_runtime(settings) as runtime:
                return {found.tool.words: found for found in runtime.registered()}

    return anyio.run(ask)


def _heading(tool: AnyTool) -> str:
    """Name a tool's section; people may call by a name that agents use as well."""
    return f"{tool.name} (people)" if tool.audience == "ui" else tool.name


def _anchor(tool: AnyTool) -> str:
    """Return the anchor that Markdown makes of the heading."""
    plain = re.sub(r"[^\w\- ]", "", _heading(tool).lower())
    return plain.replace(" ", "-")


def _who(found: Registered) -> str:
    who = _WHO[found.tool.access.value]
    if found.tool.access.value == "auth" and "chat_session_required" in codes_of(found):
        return f"{who}; with `delegation` on, chat sessions"
    return who


def _section(ja: Registered, en: Registered) -> str:
    tool = en.tool
    hints = [
        word
        for word, on in (
            ("reads only", tool.read_only),
            ("destructive", tool.destructive),
            ("idempotent", tool.idempotent),
        )
        if on
    ]
    about = [
        f"### {_heading(tool)}",
        f"**{tool.title} · {ja.tool.title}**. For {_who(en)}"
        + (f" · {' · '.join(hints)}" if hints else ""),
        "",
        f"{literal(tool.description)}<br>{literal(ja.tool.description)}",
    ]
    rows = _arguments(ja.schema, en.schema)
    listed = table(("argument", "type", "meaning"), rows) if rows else "Takes no arguments."
    refusals = sorted(codes_of(en) | _WHO_FAILS.get(tool.access.value, set()))
    told = ", ".join(code(refusal) for refusal in refusals)
    parts = ["\n".join(about), listed, f"Refuses with: {told}." if told else ""]
    return "\n\n".join(part for part in parts if part)


def _arguments(ja: Mapping[str, Any], en: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    required = en.get("required", ())
    return [
        (
            f"**{code(name)}**" if name in required else code(name),
            _type(field),
            _meaning(field, ja["properties"][name]),
        )
        for name, field in en["properties"].items()
        if name != "session_token"
    ]


def _meaning(en: Mapping[str, Any], ja: Mapping[str, Any]) -> str:
    told = [literal(text) for text in (en.get("description"), ja.get("description")) if text]
    return cell("<br>".join(told))


def _type(field: Mapping[str, Any]) -> str:
    if options := [option for option in field.get("anyOf", ()) if option.get("type") != "null"]:
        return " or ".join(_type(option) for option in options)
    if choices := field.get("enum"):
        said = ", ".join(code(choice) for choice in choices)
    else:
        inner = field.get("items", {}).get("type")
        said = f"list of {inner}" if inner else str(field.get("type", "any JSON"))
    low, high = field.get("minimum"), field.get("maximum")
    limits = f", {low} to {high}" if low is not None and high is not None else ""
    default = field.get("default")
    shown = "" if default in (None, "", False) else f", default {code(default)}"
    return f"{said}{limits}{shown}"
