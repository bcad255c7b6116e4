"""The inbox on a terminal: a paragraph for each item, whole sentences, nothing cut that matters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from aipm_cli.api import (
    People,
    clean,
    console,
    local_time,
    short_ids,
    since,
    with_people,
    words,
    wrapped,
)

if TYPE_CHECKING:
    from aipm_core import Texts

_LOOK_SECONDS = 2.0
_MOST_ARGUMENTS = 12
_UNITS = {"m": 60, "h": 3600, "d": 86_400}


def inbox_lines(items: Sequence[dict[str, Any]], text: Texts) -> Iterator[str]:
    """Return what is shown of an inbox, line by line."""
    if not items:
        yield text("cli.inbox_empty")
        return
    short = short_ids(item["id"] for item in items)
    for number, item in enumerate(items):
        if number:
            yield ""
        yield from _paragraph(item, short[item["id"]], text)


def _paragraph(item: dict[str, Any], short: str, text: Texts) -> Iterator[str]:
    level = f"[{item['level']}] " if item["level"] != "INFO" else ""
    yield from wrapped(f"{short}  {level}{item['title']}", indent=4)
    about = [item["project_id"], text("cli.waits_since", time=since(item["since"]))]
    if item["deadline"]:
        about.append(text("cli.until", time=local_time(item["deadline"])))
    if item["snoozed_until"]:
        about.append(text("cli.snoozed_until", time=local_time(item["snoozed_until"])))
    yield f"    {' · '.join(about)}"
    if item["detail"]:
        yield from wrapped(f"    {item['detail']}", indent=4)
    for name, value in list((item.get("arguments") or {}).items())[:_MOST_ARGUMENTS]:
        yield from wrapped(f"    {name} = {json.dumps(value, ensure_ascii=False)}", indent=8)
    answers = {action["name"] for action in item["actions"]}
    if "approve" in answers:
        yield f"    aipm approve {short}   aipm deny {short}"


def watched(config: Path | None, project: str | None) -> None:
    """Keep the inbox on the screen until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        with_people(config, lambda people: _watch(people, config, project))


async def _watch(people: People, config: Path | None, project: str | None) -> None:
    from rich.live import Live
    from rich.text import Text

    text = words("aipm_sessions", config)
    with Live(console=console(), auto_refresh=False, screen=False) as live:
        while True:
            items = (await people.call("read_inbox", project_id=project))["items"]
            lines = [*inbox_lines(items, text), "", text("cli.watching")]
            live.update(Text("\n".join(clean(line) for line in lines)), refresh=True)
            await people.wait(_LOOK_SECONDS)


def moment(text: str) -> str:
    """Read a moment, or how long from now: 30m, 2h, 1d."""
    found = re.fullmatch(r"([0-9]{1,4})([mhd])", text)
    if found is None:
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            raise typer.BadParameter("give a moment, or how long: 30m, 2h, 1d") from None
        return when.astimezone(UTC).isoformat()
    seconds = int(found[1]) * _UNITS[found[2]]
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
