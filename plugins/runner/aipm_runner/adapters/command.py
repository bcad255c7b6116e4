"""Any program: the prompt on its standard input, the rest in its environment."""

from __future__ import annotations

import json

from aipm_runner.api import Launch, LineRead, RunnerAdapter, RunStart

_USAGE = "aipm-usage "
_NUMBERS = ("tokens", "cost_usd", "limit_until")


def launch(start: RunStart) -> Launch:
    """Start the command as it stands."""
    if not start.command:
        raise ValueError("its settings have no command = […]")
    return Launch(
        words=start.command,
        stdin=start.prompt.encode(),
        environment={**start.environment, **variables(start)},
    )


def read(line: str) -> LineRead:
    """Take every line as it stands; ``aipm-usage {"tokens": …}`` also tells what it has used."""
    if not line.startswith(_USAGE):
        return LineRead(text=line)
    try:
        told = json.loads(line.removeprefix(_USAGE))
    except ValueError:
        return LineRead(text=line)
    found: dict[str, float] = {}
    for name in _NUMBERS if isinstance(told, dict) else ():
        value = told.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            found[name] = value
    tool = told.get("tool") if isinstance(told, dict) else None
    return LineRead(
        text=line,
        tokens=int(found["tokens"]) if "tokens" in found else None,
        cost_usd=found.get("cost_usd"),
        limit_until=found.get("limit_until"),
        tool=tool if isinstance(tool, bool) else None,
    )


def variables(start: RunStart) -> dict[str, str]:
    """Return what a program learns of its run through its environment."""
    named = {
        "AIPM_MCP_URL": start.mcp_url,
        "AIPM_SESSION_TOKEN": start.token,
        "AIPM_AGENT_ID": start.agent_id,
        "AIPM_PROJECT_ID": start.project_id,
        "AIPM_PURPOSE": start.purpose,
        "AIPM_RUN_ID": start.run_id,
    }
    known = {"AIPM_TASK_ID": start.task_id, "AIPM_MODEL": start.model}
    return named | {name: value for name, value in known.items() if value}


COMMAND = RunnerAdapter(name="command", launch=launch, read=read)
