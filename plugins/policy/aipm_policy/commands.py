"""``aipm audit`` and ``aipm policy``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, local_time, say, show, table, with_service

from aipm_policy.rule_commands import allow, disallow, list_rules, propose, try_rules

if TYPE_CHECKING:
    from aipm_core import ServiceKey
    from aipm_policy.audit_check import AuditCheck, AuditReport
    from aipm_policy.grants import Grants

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
    report: AuditReport = with_service(
        config, _audit, lambda audit_file, _: audit_file.verify(expect)
    )
    data = {"ok": report.ok, "entries": report.entries, "head": report.head}
    if report.problem:
        data["problem"] = report.problem
    show(data, as_json=as_json, human=lambda: _tell(report))
    if not report.ok:
        raise typer.Exit(1)


def _check_head(expected: str | None) -> None:
    from aipm_policy.audit_check import HEAD

    if expected is not None and not re.fullmatch(HEAD, expected):
        text = "a head looks like 12:3fa9…, as `aipm audit verify` prints it"
        raise typer.BadParameter(text, param_hint="--expect")


def _tell(report: AuditReport) -> None:
    if report.ok:
        say(f"{report.entries} entries, unbroken; head {report.head}")
    elif report.outdated:
        say(f"{report.entries} entries, unbroken, but {report.problem}; head {report.head}")
    else:
        say(f"the audit trail was tampered with: {report.problem}")


@audit.command("list")
def list_entries(
    limit: Annotated[int, typer.Option(help="How many of the newest.", min=1, max=10_000)] = 50,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the newest decisions."""
    entries: list[dict[str, Any]] = with_service(
        config, _audit, lambda audit_file, _: audit_file.newest(limit)
    )
    columns = ("seq", "at", "agent_id", "tool", "decision", "outcome", "human_id", "rule")
    show(
        entries,
        as_json=as_json,
        human=lambda: table(
            columns,
            ([_shown(entry, column) for column in columns] for entry in entries),
            empty="no decision yet",
        ),
    )


@policy.command("grants")
def list_grants(config: Config = None, as_json: AsJson = False) -> None:
    """List what people allowed for a session or for longer."""
    found: list[dict[str, Any]] = with_service(config, _grants, lambda grants, _: grants.valid())
    about = ("id", "tool", "level", "agent_id", "project_id", "session_id")
    columns = (*about, "granted_by", "expires_at")
    show(
        found,
        as_json=as_json,
        human=lambda: table(
            columns,
            ([_shown(grant, column) for column in columns] for grant in found),
            empty="nothing is allowed in advance",
        ),
    )


@policy.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(help="From `aipm policy grants`.")],  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Take back a permission."""
    with_service(config, _grants, lambda grants, _: grants.revoke(id))
    show({"id": id}, as_json=as_json, human=lambda: say(f"revoked {id}"))


def _shown(row: dict[str, Any], column: str) -> Any:  # noqa: ANN401
    """Return a cell; moments are those of the clock on the wall."""
    is_moment = column == "at" or column.endswith("_at")
    return local_time(row.get(column)) if is_moment else row.get(column)


def _audit() -> ServiceKey[AuditCheck]:
    from aipm_policy.plugin import AUDIT

    return AUDIT


def _grants() -> ServiceKey[Grants]:
    from aipm_policy.plugin import GRANTS

    return GRANTS
