"""Where programs work, for rules that tell inside from outside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from aipm_policy.api import Workplaces

from aipm_core import Json, PluginContext, Session
from aipm_runner.config import RunnerConfig


def workplaces(ctx: PluginContext[RunnerConfig]) -> Workplaces:
    """Return what knows the working copies of runs."""

    async def find(session: Session) -> str | None:
        row = await ctx.store.one(
            "select workspace from runs where session_id = ? and ended_at is null", session.id
        )
        return str(row["workspace"]) if row and row["workspace"] else None

    return Workplaces(name="runs", find=find)


def with_real_path(arguments: Mapping[str, Json], root: Path) -> Mapping[str, Json]:
    """Add where a path leads if links take it elsewhere; only this machine can know."""
    told = arguments.get("path")
    paths = [path for path in (told if isinstance(told, list) else [told]) if path]
    real_root = os.path.realpath(root)
    led = [
        real
        for path in paths
        if (real := os.path.realpath(root / str(path))) != os.path.normpath(root / str(path))
        and not real.startswith(real_root.rstrip("/") + "/")
    ]
    bare = {name: value for name, value in arguments.items() if name != "real_path"}
    return {**bare, "real_path": led[0] if len(led) == 1 else led} if led else bare
