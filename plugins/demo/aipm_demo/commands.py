"""``aipm demo``: a tour in under a minute."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from aipm_cli.api import AsJson, check_local, say

if TYPE_CHECKING:
    from aipm_demo.output import Narrator

_PAUSE = 1.4


class Language(StrEnum):
    """What the agents read."""

    en = "en"
    ja = "ja"


def demo(
    fast: Annotated[bool, typer.Option(help="Without pauses.")] = False,
    locale: Annotated[Language, typer.Option(help="What the agents read.")] = Language.en,
    as_json: AsJson = False,
) -> None:
    """Show scripted agents at work: message, marker, interrupt, delegation, confirmation, run."""
    import anyio

    from aipm_demo.output import JsonNarrator, PanelNarrator

    check_local(strict=False)

    pause = 0.0 if fast or as_json else _PAUSE
    if as_json:
        anyio.run(_run, JsonNarrator(), locale.value, pause)
        return
    narrator = PanelNarrator()
    say("A real server, three scripted agents, one person; no model, no network.")
    with narrator.shown():
        anyio.run(_run, narrator, locale.value, pause)
    say("\nThat was all real but the agents' minds. Next: aipm init, aipm up")


async def _run(narrator: Narrator, locale: str, pause: float) -> None:
    from aipm_demo.scenario import play
    from aipm_demo.setup import prepare

    with tempfile.TemporaryDirectory(prefix="aipm-demo-") as place:
        stage = await prepare(Path(place), narrator, locale=locale, pause=pause)
        with stage.install.up() as stage.server:
            await play(stage)
