"""``aipm runs``: what runs, what it prints and changes, and how it is stopped and taken back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, clean, pairs, say, show, table, with_service

if TYPE_CHECKING:
    from collections.abc import Callable

    from aipm_core import ServiceKey
    from aipm_runner.service import RunService

runs = typer.Typer(help="Runs of agents' programs.", rich_markup_mode=None, no_args_is_help=True)
RunId = Annotated[str, typer.Argument(help="The run's id.")]
_STOP_SECONDS = 15.0
_FOLLOW_SECONDS = 30.0


@runs.command("list")
def list_runs(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    rows = with_service(config, _service, lambda service, _: service.listed(project))
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            ("run", "agent", "project", "for", "state", "proof", "since", "end"),
            (
                (
                    *(r["id"], r["agent_id"], r["project_id"], r["task_id"] or r["purpose"]),
                    r["state"] + (f" ({r['waits_for']})" if r["waits_for"] else ""),
                    *(r["evidence"], r["since"], r["end_reason"]),
                )
                for r in rows
            ),
            empty="no run yet; `aipm agent edit ID --program NAME` gives an agent a program",
        ),
    )


@runs.command("show")
def show_run(
    id: RunId,  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show all that is known of a run."""

    async def work(service: RunService, _: object) -> dict[str, Any]:
        return service.shown(await service.get(id))

    data = with_service(config, _service, work)
    known = {name: str(value) for name, value in data.items() if value is not None}
    show(data, as_json=as_json, human=lambda: pairs(known))


@runs.command("log")
def log(
    id: RunId,  # noqa: A002
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run ends.")
    ] = False,
    after: Annotated[int, typer.Option(min=0, help="Only what comes after this line.")] = 0,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Print what a run printed."""
    kept: list[Any] = []

    def put(lines: list[Any]) -> None:
        kept.extend(lines if as_json else ())
        for line in () if as_json else lines:
            sys.stdout.write(clean(str(line["text"])) + "\n")
        sys.stdout.flush()

    with_service(config, _service, lambda service, _: _read(service, id, after, put, follow))
    if as_json:
        show(kept, as_json=True, human=lambda: None)


async def _read(
    service: RunService, run_id: str, number: int, put: Callable[[list[Any]], None], follow: bool
) -> None:
    while True:
        run = await service.get(run_id)
        while lines := await service.log.after(run_id, number):
            put(lines)
            number = int(str(lines[-1]["number"]))
        if not follow or run.ended_at is not None:
            return
        await service.log.wait(run_id, number, _FOLLOW_SECONDS)


@runs.command("diff")
def diff(
    id: RunId,  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show what a run has changed, up to now."""

    async def work(service: RunService, _: object) -> Any:  # noqa: ANN401
        run = await service.get(id)
        changes = service.changes
        return await changes.files(run) if as_json else await changes.text(run)

    found = with_service(config, _service, work)

    def human() -> None:
        for line in found.splitlines():
            sys.stdout.write(clean(line) + "\n")

    show(found, as_json=as_json, human=human)


@runs.command("start")
def start(
    agent: Annotated[str, typer.Argument(help="An agent with a program.")],
    project: Annotated[str, typer.Option(help="Its project.")],
    chat: Annotated[bool, typer.Option("--chat", help="To answer, not for a task.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Start what an agent is needed for now; failures of before count no more."""

    async def work(service: RunService, _: object) -> dict[str, Any]:
        return await service.start(project, agent, "chat" if chat else "task")

    data = with_service(config, _service, work)
    text = f"{data['run_id']} goes on" if data["run_id"] else f"{agent} is started by its runner"
    show(data, as_json=as_json, human=lambda: say(text))


@runs.command("stop")
def stop(
    id: RunId,  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Stop a run and everything it has started; wait until that is done."""

    async def work(service: RunService, _: object) -> dict[str, Any]:
        await service.stop(id, "operator")
        return service.shown(await service.stopped(id, _STOP_SECONDS))

    data = with_service(config, _service, work)
    text = f"{id} has ended" if data["ended_at"] else f"{id} was told to stop and is still ending"
    show(data, as_json=as_json, human=lambda: say(text))


@runs.command("undo")
def undo(
    id: RunId,  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Put the working copy and the branch of a run back to where the run began."""
    with_service(config, _service, lambda service, _: service.undo(id, "operator"))
    kept = f"refs/aipm/undone/{id}"
    text = f"took back {id}; what it had made is kept in {kept}"
    show({"id": id, "kept": kept}, as_json=as_json, human=lambda: say(text))


@runs.command("merge")
def merge(
    id: RunId,  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Commit a run's work on its branch and try the merge; the merge itself is yours."""

    async def work(service: RunService, _: object) -> dict[str, Any]:
        made = await service.changes.merge(await service.get(id))
        return {
            "id": id,
            "branch": made.branch,
            "commit": made.commit,
            "ahead": made.ahead,
            "conflicts": list(made.conflicts),
            "command": made.command,
        }

    data = with_service(config, _service, work)

    def human() -> None:
        say(f"{data['branch']} is ready: {data['ahead']} commits ahead")
        for path in data["conflicts"]:
            say(f"conflict: {path}")
        say(f"merge it in the project's directory: {data['command']}")

    show(data, as_json=as_json, human=human)


def _service() -> ServiceKey[RunService]:
    from aipm_runner.service import RUN_SERVICE

    return RUN_SERVICE
