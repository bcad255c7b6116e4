"""Which earlier conversation of a program a new run goes on with."""

from __future__ import annotations

from aipm_sessions.api import Need

from aipm_core import Reader
from aipm_runner.runs import Run, run_of

# How a run may have ended whose conversation is sound. What broke on its own words (too long, a
# request its model refuses, falling silent) would break again.
_SOUND = (
    *("stopped_by_person", "runner_stopped", "runner_lost", "process_died"),
    *("quota", "budget", "network"),
)
_LAST = (
    "select * from runs where project_id = ? and agent_id = ? and purpose = ? "
    "and coalesce(task_id, '') = coalesce(?, '') order by number desc limit 1"
)
_KEPT = (
    "select r.* from runs r where r.home is not null and r.program_session is not null "
    "and not exists (select 1 from runs n where n.project_id = r.project_id "
    "and n.agent_id = r.agent_id and n.purpose = r.purpose "
    "and coalesce(n.task_id, '') = coalesce(r.task_id, '') and n.number > r.number)"
)


def is_sound(reason: str | None, evidence: str) -> bool:
    """Return whether the conversation of a run that ended so can go on."""
    return reason in _SOUND or (reason == "process_failed" and evidence == "exit")


async def earlier_run(db: Reader, need: Need, program: str, machine: str | None) -> Run | None:
    """Return the run whose conversation goes on when an agent is started for a need, if any."""
    row = await db.one(_LAST, need.project_id, need.agent_id, need.purpose, need.task_id)
    if row is None or row["program_session"] is None or row["home"] is None:
        return None
    run = run_of(row)
    same = (run.program, run.machine) == (program, machine)
    return run if same and is_sound(run.end_reason, run.evidence) else None


async def kept_homes(db: Reader) -> set[str]:
    """Return the homes with conversations that may go on."""
    found = [run_of(row) for row in await db.all(_KEPT)]
    return {run.home or run.id for run in found if is_sound(run.end_reason, run.evidence)}
