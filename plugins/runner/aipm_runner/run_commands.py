"""``aipm runs``: what runs, what it prints and changes, and how it is stopped and taken back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    call_tool,
    clean,
    matching,
    pairs,
    say,
    short_ids,
    show,
    since,
    table,
    with_people,
    words,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PACKAGE = "aipm_runner"
runs = typer.Typer(help="Runs of agents' programs.", rich_markup_mode=None, no_args_is_help=True)
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Its id, or the beginning of it.")]
_HEADS = ("run", "agent", "project", "work", "state", "proof", "since", "end")
_STOP_SECONDS = 15.0
_FOLLOW_SECONDS = 20.0
_MOST_RUNS = 1000


@runs.command("list")
def list_runs(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    rows = call_tool(config, "list_runs", project_id=project)["runs"]
    text, short = words(_PACKAGE, config), short_ids(r["id"] for r in rows)
    tasks = short_ids(r["task_id"] for r in rows if r["task_id"])
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            [text(f"cli.heads.{name}") for name in _HEADS],
            (
                (
                    *(short[r["id"]], r["agent_id"], r["project_id"]),
                    tasks.get(r["task_id"], r["purpose"]),
                    r["state"] + (f" ({r['waits_for']})" if r["waits_for"] else ""),
                    *(r["evidence"], since(r["since"]), r["end_reason"]),
                )
                for r in rows
            ),
            empty=text("cli.no_run"),
        ),
    )


@runs.command("show")
def show_run(id: RunId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Show all that is known of a run."""
    data = with_people(config, lambda people: _find(people, id))
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
            tool = f"{line['tool']} " if "tool" in line else ""
            sys.stdout.write(clean(tool + str(line["text"])) + "\n")
        sys.stdout.flush()

    with_people(config, lambda people: _read(people, id, after, put, follow=follow))
    if as_json:
        show(kept, as_json=True, human=lambda: None)


async def _read(
    people: People, run: str, number: int, put: Callable[[list[Any]], None], *, follow: bool
) -> None:
    named = _named(await _find(people, run))
    waits = 0.0
    while True:
        read = await people.call("read_run_log", **named, after=number, wait_seconds=waits)
        if read["lines"]:
            put(read["lines"])
            number = int(read["lines"][-1]["number"])
        elif read["ended"] or not follow:
            return
        waits = _FOLLOW_SECONDS if follow else 0.0


@runs.command("diff")
def diff(id: RunId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Show what a run has changed, up to now."""

    async def work(people: People) -> Any:  # noqa: ANN401
        named = _named(await _find(people, id))
        return await people.call("show_run_changes", **named, as_text=not as_json)

    found = with_people(config, work)

    def human() -> None:
        for line in found["text"].splitlines():
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
    purpose = "chat" if chat else "task"
    data = call_tool(config, "start_run", project_id=project, agent_id=agent, purpose=purpose)
    key = "goes_on" if data["run_id"] else "started"
    text = words(_PACKAGE, config)(f"cli.{key}", run=data["run_id"], agent=agent)
    show(data, as_json=as_json, human=lambda: say(text))


@runs.command("stop")
def stop(
    id: RunId,  # noqa: A002
    kill: Annotated[
        bool, typer.Option("--kill", help="At once, with everything it has started.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Stop a run and everything it has started; wait until that is done."""
    from aipm_core import CallError

    async def work(people: People) -> Any:  # noqa: ANN401
        run = await _find(people, id)
        if run["ended_at"]:
            text = words(_PACKAGE, config)("errors.run_ended", run_id=run["id"])
            raise CallError(text, code="run_ended", status=409)
        await people.call("stop_run", **_named(run), kill=kill)
        last = {"after": 2**53, "wait_seconds": _STOP_SECONDS}
        await people.call("read_run_log", **_named(run), **last)
        return await _find(people, run["id"])

    data = with_people(config, work)
    key = "ended" if data["ended_at"] else "ending"
    text = words(_PACKAGE, config)(f"cli.{key}", run=data["id"])
    show(data, as_json=as_json, human=lambda: say(text))


@runs.command("undo")
def undo(id: RunId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Put the working copy and the branch of a run back to where the run began."""
    data = with_people(config, lambda people: _given(people, "undo_run", id))
    text = words(_PACKAGE, config)("cli.undone", run=data["run_id"], kept=data["kept"])
    show({"id": data["run_id"], **data}, as_json=as_json, human=lambda: _say(text))


@runs.command("merge")
def merge(id: RunId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Commit a run's work on its branch and try the merge; the merge itself is yours."""
    data = with_people(config, lambda people: _given(people, "prepare_merge", id))
    text = words(_PACKAGE, config)

    def human() -> None:
        say(text("cli.merge_ready", branch=data["branch"], ahead=data["ahead"]))
        for path in data["conflicts"]:
            say(text("cli.conflict", path=path))
        _say(text("cli.merge_how", command=data["command"]))

    show(data, as_json=as_json, human=human)


async def _given(people: People, tool: str, run: str) -> Any:  # noqa: ANN401
    return await people.call(tool, **_named(await _find(people, run)))


async def _find(people: People, run: str) -> Mapping[str, Any]:
    """Return the run that an id names, or the beginning of one."""
    return matching((await people.call("list_runs", limit=_MOST_RUNS))["runs"], run, "run")


def _named(run: Mapping[str, Any]) -> dict[str, Any]:
    return {"project_id": run["project_id"], "run_id": run["id"]}


def _say(text: str) -> None:
    """Print a sentence, on as many lines as it takes."""
    for line in wrapped(text, indent=2):
        say(line)
