"""``aipm inbox``, ``aipm approve`` and ``aipm deny``: what waits for a person."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_core.commands import AsJson, Config, say, show, table, with_service

if TYPE_CHECKING:
    from pathlib import Path

    from aipm_core import ServiceKey
    from aipm_sessions.api import Decision, DecisionBoard

OPERATOR = "operator"  # whoever has the command line

DecisionId = Annotated[str, typer.Argument(metavar="ID", help="See `aipm inbox`.")]
Person = Annotated[
    str | None, typer.Option("--as", help="Answer as this person [default: the operator].")
]
Reason = Annotated[str | None, typer.Option(help="Why; those concerned are told.")]


def inbox(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List what waits for a person's yes or no."""

    async def work(board: DecisionBoard, runtime: Any) -> list[Decision]:  # noqa: ANN401
        if project is not None:
            await _check_project(runtime, project)
        return await board.pending(runtime.store, project)

    found = with_service(config, _board, work)
    rows = [asdict(decision) for decision in found]
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            ("id", "kind", "project", "agent", "what", "since", "until"),
            (list(row.values()) for row in rows),
            empty="nothing waits for you",
        ),
    )


def approve(
    id: DecisionId,  # noqa: A002
    person: Person = None,
    reason: Reason = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say yes to something in the inbox."""
    _answer(config, id, person, reason, approved=True)
    data = {"id": id, "approved": True}
    show(data, as_json=as_json, human=lambda: say(f"approved {id}"))


def deny(
    id: DecisionId,  # noqa: A002
    person: Person = None,
    reason: Reason = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say no to something in the inbox."""
    _answer(config, id, person, reason, approved=False)
    data = {"id": id, "approved": False}
    show(data, as_json=as_json, human=lambda: say(f"denied {id}"))


def _answer(
    config: Path | None,
    decision_id: str,
    person: str | None,
    reason: str | None,
    *,
    approved: bool,
) -> None:
    async def work(board: DecisionBoard, runtime: Any) -> None:  # noqa: ANN401
        if person is not None:
            await _check_person(runtime, person)
        by = person or OPERATOR
        await board.answer(decision_id, approved=approved, by=by, reason=reason)

    with_service(config, _board, work)


async def _check_project(runtime: Any, project: str) -> None:  # noqa: ANN401
    from aipm_sessions.api import DIRECTORY
    from aipm_sessions.directory import missing

    if await runtime.services.use(DIRECTORY).project(runtime.store, project) is None:
        raise missing("project", project)


async def _check_person(runtime: Any, person: str) -> None:  # noqa: ANN401
    from aipm_core import CallError
    from aipm_sessions.api import DIRECTORY
    from aipm_sessions.directory import missing

    agent = await runtime.services.use(DIRECTORY).agent(runtime.store, person)
    if agent is None:
        raise missing("agent", person)
    if agent.kind != "human":
        raise CallError(f"{person!r} is not a human", code="not_a_human", status=403)


def _board() -> ServiceKey[DecisionBoard]:
    from aipm_sessions.api import DECISIONS

    return DECISIONS
