"""``aipm budget``: what agents have used. Imported for ``aipm --help``, so it imports late."""

from __future__ import annotations

from typing import Any

from aipm_cli.api import AsJson, Config, show, table, with_runtime


def budget(config: Config = None, as_json: AsJson = False) -> None:
    """Show how many calls agents made, by day."""
    rows = with_runtime(config, _read)
    values = [(row["day"], row["agent_id"], row["calls"]) for row in rows]
    show(
        rows,
        as_json=as_json,
        human=lambda: table(("day", "agent", "calls"), values, empty="no calls"),
    )


async def _read(runtime: Any) -> list[dict[str, Any]]:
    sql = "select day, agent_id, calls from budget_calls order by day desc, agent_id"
    names = ("day", "agent_id", "calls")
    return [{name: row[name] for name in names} for row in await runtime.store.all(sql)]
