"""``docs/retention.md`` names every table, and what it says about settings is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aipm_cli import discovery
from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings
from aipm_operations.api import SWEEPER

PAGE = Path(__file__).parent.parent / "docs" / "retention.md"
_DAY_HOURS = {
    "keep_hours": 24,
    "ttl_hours": 24,
    "session_idle_hours": 24,
    "keep_commands_hours": 24,
}


def rows() -> list[list[str]]:
    """Return the cells of the page's tables."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


async def test_every_table_has_a_stated_life(tmp_path: Path) -> None:
    """A new table fails here until the page says how long it keeps what."""
    stated = [name for row in rows() for name in names(row[0])]
    settings = Settings(data_dir=tmp_path)
    async with open_runtime(settings) as runtime:
        found = await runtime.store.all("select name from sqlite_master where type = 'table'")
        swept = {record.name.split()[-1] for record in runtime.services.use(SWEEPER).records()}
    made = {row["name"] for row in found}
    # How SQLite keeps its own books, and how it stores an index of words.
    own = {name for name in made if name.startswith(("sqlite_", "messages_search_"))}
    assert set(stated) == made - own
    assert len(stated) == len(set(stated))
    assert swept <= {name for row in rows() if len(row) > 2 for name in names(row[0])}


def test_everything_that_is_swept_stands_with_its_settings() -> None:
    classes = discovery.load(discovery.choose(discovery.installed(), Settings()), Settings())
    for row in rows():
        for setting in names(row[3]) if len(row) > 2 else ():
            plugin, _, key = setting.partition(".")
            field = classes[plugin].config_model.model_fields[key]
            days = field.default / _DAY_HOURS.get(key, 1)
            shown = {1: "a day", 365: "a year", 10_000: "10,000"}.get(days, f"{days:g} days")
            assert shown in row[2], (setting, field.default)


@pytest.mark.parametrize("table", ["messages", "tasks", "task_history", "conversations"])
def test_the_memory_of_the_team_is_not_swept(table: str) -> None:
    assert [len(row) for row in rows() if table in names(row[0])] == [2]
