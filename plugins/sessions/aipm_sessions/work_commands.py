"""``aipm work``: which agent needs which kind of session now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, say, show, table, with_service, words

if TYPE_CHECKING:
    from aipm_core import ServiceKey
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
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions that should be running and are not, or claim them."""
    if ended is not None:
        _end(ended, config, as_json=as_json)
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
                    r["claimed_by"],
                )
                for r in rows
            ),
            empty=text("cli.no_work"),
        ),
    )


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
    return {**row, "claim_id": one.claim_id} if one.claim_id else row
