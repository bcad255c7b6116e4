"""``aipm doctor``: is everything all right, and what to run next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, load_settings, say, show, wrapped

if TYPE_CHECKING:
    from aipm_operations.api import Finding

_MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}
app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("doctor", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def doctor(
    ctx: typer.Context,
    config: Config = None,
    as_json: AsJson = False,
    list_repairs: Annotated[
        bool, typer.Option("--repairs", help="List what can be repaired.")
    ] = False,
) -> None:
    """Check settings, store, permissions, plugins and port; say what to run next.

    Plugins add repairs: `aipm doctor --rebuild-chat`; `--repairs` lists them.
    """
    import anyio

    from aipm_operations.doctor import examine

    settings = load_settings(config)
    wanted = [argument.removeprefix("--") for argument in ctx.args]
    findings = anyio.run(examine, settings, wanted, list_repairs)
    rows = [_row(name, finding) for name, finding in findings]
    show(rows, as_json=as_json, human=lambda: _print(rows))
    if any(row["status"] == "fail" for row in rows):
        raise typer.Exit(1)


def _row(name: str, finding: Finding) -> dict[str, Any]:
    return {
        "name": name,
        "status": finding.status,
        "message": finding.message,
        "next": finding.next,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        head = f"{_MARKS[row['status']]} {row['name']:<{width}}  {row['message']}"
        follow = f"  {'':<{width}}  → {row['next']}" if row["next"] else ""
        for text in filter(None, (head, follow)):
            for line in wrapped(text, indent=width + 4):
                say(line)
