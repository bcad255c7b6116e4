"""Where projects may be: each in a directory of its own, none in another's or in the program's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from aipm_operations.api import Finding

from aipm_core import CallError, PluginContext, Reader
from aipm_sessions.api import Project
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory

_ADVICE = "give every project a directory of its own"


class ProjectDirectories:
    """Compares directories as the file system does: links, dots and spellings make no other one."""

    def __init__(self, ctx: PluginContext[SessionsConfig], directory: SqlDirectory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def check(self, db: Reader, place: Path, project_id: str | None = None) -> None:
        """Refuse a directory that is not a new project's to have, or the next of ``project_id``."""
        if reserved := self._reserved(place):
            raise CallError(f"{reserved}; {_ADVICE}", code="invalid_directory", status=400)
        if taken := _taken(place, await self._others(db, project_id)):
            raise CallError(f"{taken}; {_ADVICE}", code="directory_taken", status=409)

    async def _others(self, db: Reader, project_id: str | None) -> list[Project]:
        return [one for one in await self._directory.projects(db) if one.id != project_id]

    async def examine(self) -> Finding:
        """Name the projects that would be refused today."""
        projects = await self._directory.projects(self._ctx.store)
        problems = [
            f"{problem} ({project.id})"
            for number, project in enumerate(projects)
            if (place := project.directory) is not None
            and (problem := self._reserved(place) or _taken(place, projects[:number]))
        ]
        if not problems:
            return Finding(status="ok", message="every project has a directory of its own")
        remedy = f"{_ADVICE}: what they write each other ends up in the same files"
        return Finding(status="warn", message="; ".join(problems), next=remedy)

    def _reserved(self, place: Path) -> str | None:
        if _same(place, Path(place.anchor)):
            return f"a project cannot have {place}, which holds everything"
        own = self._ctx.data_dir.resolve()
        if _holds(own, place):
            return f"{place} is or is inside {own}, where this program keeps its data"
        return None


def _taken(place: Path, projects: Iterable[Project]) -> str | None:
    for project in projects:
        if (other := project.directory) is None:
            continue
        whose = f"the directory of project {project.id!r}"
        if _same(place, other):
            return f"{place} is {whose}"
        if _holds(other, place):
            return f"{place} is inside {other}, {whose}"
        if _holds(place, other):
            return f"{place} contains {other}, {whose}"
    return None


def _holds(outer: Path, inner: Path) -> bool:
    return any(_same(step, outer) for step in (inner, *inner.parents))


def _same(one: Path, other: Path) -> bool:
    try:
        return one == other or one.samefile(other)
    except OSError:
        return False  # one of them is not there (yet)
