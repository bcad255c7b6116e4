"""``aipm work``: which agent needs which kind of session now."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, say, show, table, with_service, words

if TYPE_CHECKING:
    from pathlib import Path

    from aipm_core import ServiceKey
    from aipm_sessions.api import Waiting
    from aipm_sessions.missing_sessions import Claim, MissingSession, SqlMissingSessions

_HEADS = ("project", "agent", "session", "because", "claimed")


def work(
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for something to do.")] = 0,
    claim: Annotated[
        bool, typer.Option("--claim", help="Claim what is listed: nobody else gets it.")
    ] = False,
    supervisor: Annotated[str | None, typer.Option(help="Who claims.")] = None,
    lease: Annotated[
        float, typer.Option(min=1, help="Seconds within which a claimed session must open.")
    ] = 120,
    limit: Annotated[int | None, typer.Option(min=1, help="Claim at most so many.")] = None,
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    ended: Annotated[
        str | None,
        typer.Option(help="The process of this claim is gone: end the session it opened."),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Also what nobody is needed for yet, and why.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions that should be running and are not, or claim them.

    With --wait alone every need is a line as it arises, until the time is over.
    """
    if ended is not None:
        _end(ended, config, as_json=as_json)
        return
    if wait and not claim:
        _follow(project, wait, config, as_json=as_json)
        return
    if claim and not (supervisor or "").strip():
        raise typer.BadParameter("--claim needs --supervisor NAME")
    found = with_service(
        config,
        _missing_sessions,
        lambda missing_sessions, _: missing_sessions.wait(
            project, _claim(claim, supervisor, lease, limit), wait
        ),
    )
    rows, text = [_row(one) for one in found], words("aipm_sessions", config)
    if why:
        waits = with_service(config, _missing_sessions, lambda missing, _: missing.waits(project))
        _show_why(rows, waits, config, as_json=as_json)
        return
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            [text(f"cli.heads.{name}") for name in _HEADS],
            (
                (
                    r["project_id"],
                    r["agent_id"],
                    r["purpose"],
                    ", ".join(r["reasons"]),
                    r["claimed_by"] or r.get("text", ""),
                )
                for r in rows
            ),
            empty=text("cli.no_work"),
        ),
    )


def _follow(project: str | None, seconds: float, config: Any, *, as_json: bool) -> None:  # noqa: ANN401
    """Print a line for each need as it arises; Ctrl-C ends it before its time."""

    async def work(missing: SqlMissingSessions, _: object) -> None:
        await missing.check(project)
        async for one in missing.follow(project, seconds):
            row = _row(one)
            why = ", ".join(row["reasons"])
            line = f"{row['project_id']}  {row['agent_id']}  {row['purpose']}  {why}"
            show(row, as_json=as_json, human=partial(say, line))
            sys.stdout.flush()

    with_service(config, _missing_sessions, work)


def _show_why(
    rows: list[dict[str, Any]], waits: list[Waiting], config: Path | None, *, as_json: bool
) -> None:
    """Show everything that is to be done and does not run, each with its reason."""
    from dataclasses import asdict

    text = words("aipm_sessions", config)

    def human() -> None:
        lines = [(r["project_id"], r["agent_id"], r.get("text") or r["reasons"][0]) for r in rows]
        lines += [(one.project_id, one.agent_id, one.text) for one in waits]
        heads = [text(f"cli.heads.{name}") for name in ("project", "agent", "because")]
        table(heads, lines, empty=text("cli.no_work"))

    data = {"needs": rows, "waits": [asdict(one) for one in waits]}
    show(data, as_json=as_json, human=human)


def _end(claim_id: str, config: Any, *, as_json: bool) -> None:  # noqa: ANN401
    closed = with_service(
        config, _missing_sessions, lambda missing_sessions, _: missing_sessions.claims.end(claim_id)
    )
    text = "ended its session" if closed else "it has no session that runs"
    data = {"claim_id": claim_id, "sessions_ended": closed}
    show(data, as_json=as_json, human=lambda: say(f"released {claim_id}; {text}"))


def _claim(wanted: bool, supervisor: str | None, lease: float, limit: int | None) -> Claim | None:
    from aipm_sessions.missing_sessions import Claim

    if not wanted or supervisor is None:
        return None
    return Claim(supervisor=supervisor, seconds=lease, limit=limit)


def _missing_sessions() -> ServiceKey[SqlMissingSessions]:
    from aipm_sessions.plugin import WORK_CLAIMS

    return WORK_CLAIMS


def _row(one: MissingSession) -> dict[str, Any]:
    row: dict[str, Any] = {
        "agent_id": one.agent_id,
        "project_id": one.project_id,
        "purpose": one.purpose,
        "reasons": list(one.reasons),
        "claimed_by": one.claimed_by,
        "claimed_until": one.claimed_until,
    }
    row |= one.state
    return {**row, "claim_id": one.claim_id} if one.claim_id else row
