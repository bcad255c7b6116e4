"""Options of ``aipm agent add`` and ``edit`` for fields that other plugins keep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from aipm_core import Json

Program: TypeAlias = Annotated[
    str | None, typer.Option(help="What is run for it, by its name in the settings; '' for none.")
]
Model: TypeAlias = Annotated[str | None, typer.Option(help="The model its program uses.")]
PromptFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="A file with its system prompt.", exists=True, dir_okay=False)
]
RoleText: TypeAlias = Annotated[str | None, typer.Option(help="What it is there for.")]
Workspace: TypeAlias = Annotated[
    str | None, typer.Option(help="worktree, or directory: the project's own.")
]
Budget: TypeAlias = Annotated[float | None, typer.Option(help="US dollars a run may cost.")]


def agent_fields(
    program: str | None,
    model: str | None,
    prompt_file: Path | None,
    role_text: str | None,
    workspace: str | None,
    budget: float | None,
) -> dict[str, Json]:
    """Return the fields that were given."""
    try:
        prompt = prompt_file.read_text(encoding="utf-8") if prompt_file else None
    except (OSError, UnicodeDecodeError):
        raise typer.BadParameter(f"{prompt_file} cannot be read as text in UTF-8") from None
    fields: dict[str, Json] = {
        "program": program,
        "model": model,
        "system_prompt": prompt,
        "role_text": role_text,
        "workspace": workspace,
        "max_budget_usd": budget,
    }
    return {name: value for name, value in fields.items() if value is not None}
