"""``aipm audit`` and ``aipm policy``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    call_tool,
    local_time,
    say,
    show,
    table,
    with_people,
    words,
)

from aipm_policy.rule_commands import allow, disallow, list_rules, propose, try_rules

if TYPE_CHECKING:
    from aipm_core import Texts

_PACKAGE = "aipm_policy"
_PAGE = 1000
_ENTRY = ("seq", "at", "agent_id", "tool", "decision", "outcome", "human_id", "rule")
_GRANT = ("id", "tool", "level", "agent_id", "project_id", "session_id", "granted_by", "expires_at")
audit = typer.Typer(
    help="The record of decisions about tool calls.", rich_markup_mode=None, no_args_is_help=True
)
policy = typer.Typer(
    help="Rules about calls, and permissions people gave for more than one.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
policy.command("rules")(list_rules)
policy.command("try")(try_rules)
policy.command("allow")(allow)
policy.command("disallow")(disallow)
policy.command("propose")(propose)


@audit.command("verify")
def verify(
    expect: Annotated[
        str | None, typer.Option("--expect", help="A head printed earlier: it must still be there.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Check that no entry was edited, removed or added by hand."""
    _check_head(expect)
    report = call_tool(config, "verify_audit", expect=expect)
    data = {"ok": report["ok"], "entries": report["entries"], "head": report["head"]}
    if report["problem"]:
        data["problem"] = report["problem"]
    key = "unbroken" if report["ok"] else "outdated" if report["outdated"] else "tampered"
    line = words(_PACKAGE, config)(f"cli.{key}", **{"problem": "", **data})
    show(data, as_json=as_json, human=lambda: say(line))
    if not report["ok"]:
        raise typer.Exit(1)


def _check_head(expected: str | None) -> None:
    from aipm_policy.audit_check import HEAD

    if expected is not None and not re.fullmatch(HEAD, expected):
        text = "a head looks like 12:3fa9…, as `aipm audit verify` prints it"
        raise typer.BadParameter(text, param_hint="--expect")


@audit.command("list")
def list_entries(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    limit: Annotated[int, typer.Option(help="How many of the newest.", min=1, max=10_000)] = 50,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the newest decisions."""
    entries = with_people(config, lambda people: _newest(people, project, limit))
    text = words(_PACKAGE, config)
    show(entries, as_json=as_json, human=lambda: _table(_ENTRY, entries, text, "no_decision"))


async def _newest(people: People, project: str | None, limit: int) -> list[dict[str, Any]]:
    """Return the newest entries, oldest of them first."""
    found: list[dict[str, Any]] = []
    while len(found) < limit:
        before = found[-1]["seq"] if found else None
        page = min(_PAGE, limit - len(found))
        told = await people.call("list_audit", project_id=project, before=before, limit=page)
        found += told["entries"]
        if not told["has_more"]:
            break
    return found[::-1]


@policy.command("grants")
def list_grants(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List what people allowed for a session or for longer."""
    found = call_tool(config, "list_grants", project_id=project)["grants"]
    text = words(_PACKAGE, config)
    show(found, as_json=as_json, human=lambda: _table(_GRANT, found, text, "no_grant"))


@policy.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="From `aipm policy grants`.")],  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Take back a permission."""
    call_tool(config, "revoke_grant", grant_id=id)
    line = words(_PACKAGE, config)("cli.revoked", grant=id)
    show({"id": id}, as_json=as_json, human=lambda: say(line))


def _table(columns: tuple[str, ...], rows: list[dict[str, Any]], text: Texts, empty: str) -> None:
    table(
        [text(f"cli.heads.{name}") for name in columns],
        ([_shown(row, column) for column in columns] for row in rows),
        empty=text(f"cli.{empty}"),
    )


def _shown(row: dict[str, Any], column: str) -> Any:  # noqa: ANN401
    """Return a cell; moments are those of the clock on the wall."""
    is_moment = column == "at" or column.endswith("_at")
    return local_time(row.get(column)) if is_moment else row.get(column)
