"""What people do with projects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    CallError,
    InvalidArguments,
    Json,
    PluginContext,
    Tx,
    tool,
)
from aipm_sessions.administration import Administration
from aipm_sessions.api import SessionHooks, is_name, is_operator, project_topic
from aipm_sessions.config import SessionsConfig
from aipm_sessions.departures import Departures
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.pauses import ProjectPauses
from aipm_sessions.shown import project_shown

ID = Field(max_length=64)


class CreateProject(Arguments):
    """Arguments of ``create_project``."""

    id: str = ID
    name: str | None = Field(default=None, max_length=200, pattern=r"\S")
    directory: str | None = Field(default=None, max_length=1000, pattern=r"\S")
    pool: bool = False


class EditProject(Arguments):
    """Arguments of ``edit_project``; what is left out stays."""

    project_id: str = ID
    name: str | None = Field(default=None, max_length=200, pattern=r"\S")
    directory: str | None = Field(default=None, max_length=1000, pattern=r"\S")
    pool: bool | None = None


class OneProject(Arguments):
    """A project of the caller's."""

    project_id: str = ID


class ArchiveProject(OneProject):
    """Arguments of ``archive_project``."""

    archived: bool = True


class ProjectTools:
    """Projects are for managers; every person of a project may pause it."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        administration: Administration,
        directory: SqlDirectory,
        pauses: ProjectPauses,
        departures: Departures,
    ) -> None:
        self._ctx = ctx
        self._administration = administration
        self._directory = directory
        self._pauses = pauses
        self._departures = departures

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        person, manager = Access.PERSON, Access.MANAGER
        yield tool(self.create_project, access=manager, audience="ui")
        yield tool(self.edit_project, access=manager, audience="ui", idempotent=True)
        yield tool(self.pause_project, access=person, audience="ui", idempotent=True)
        yield tool(self.resume_project, access=person, audience="ui", idempotent=True)
        yield tool(self.archive_project, access=manager, audience="ui", idempotent=True)
        yield tool(self.delete_project, access=manager, audience="ui", destructive=True)

    async def create_project(self, call: Call, args: CreateProject) -> Json:
        """Add a project; whoever makes it belongs to it."""
        if not is_name(args.id):
            raise InvalidArguments(self._ctx.texts("errors.not_a_name", field="id"))
        directory = self._path(args.directory)
        if await self._directory.project(self._ctx.store, args.id) is not None:
            raise self._ctx.refuse("already_exists", 409, name=args.id)
        with self._naming_nobody(call):
            place = await self._administration.place(directory)

        async def unit(tx: Tx) -> Json:
            made = await self._administration.insert_project(
                tx, args.id, args.name or args.id, place
            )
            if not is_operator(call.caller):
                await self._administration.join(tx, call.caller.agent_id, made.id)
            if args.pool:
                await tx.run("update projects set pool = 1 where id = ?", made.id)
            return await self._project(tx, made.id)

        with self._naming_nobody(call):
            return await call.write(self._ctx.store, unit)

    @contextmanager
    def _naming_nobody(self, call: Call) -> Iterator[None]:
        """Tell people that a directory is taken, but not by which project: it may be foreign."""
        try:
            yield
        except CallError as error:
            if error.code != "directory_taken" or is_operator(call.caller):
                raise
            raise self._ctx.refuse("directory_taken", 409) from None

    async def edit_project(self, call: Call, args: EditProject) -> Json:
        """Change the name or the pool of a project, or move it to another directory."""
        if args.name is None and args.directory is None and args.pool is None:
            raise InvalidArguments(self._ctx.texts("errors.nothing_to_change"))
        with self._naming_nobody(call):
            place = await self._administration.place(self._path(args.directory), args.project_id)

        async def unit(tx: Tx) -> Json:
            await tx.run(
                "update projects set name = coalesce(?, name), "
                "directory = coalesce(?, directory), pool = coalesce(?, pool) where id = ?",
                *(args.name, str(place) if place else None),
                *(None if args.pool is None else int(args.pool), args.project_id),
            )
            if place is not None:
                for owned in self._ctx.given(SessionHooks.aipm_project_observers):
                    if owned.record.moved is not None:
                        await owned.record.moved(tx, args.project_id)
            return await self._project(tx, args.project_id)

        return await call.write(self._ctx.store, unit)

    async def pause_project(self, call: Call, args: OneProject) -> Json:
        """Stop all agents of a project at their next call, and start none."""
        return await self._set_paused(call, args.project_id, paused=True)

    async def resume_project(self, call: Call, args: OneProject) -> Json:
        """Let the agents of a paused project go on."""
        return await self._set_paused(call, args.project_id, paused=False)

    async def archive_project(self, call: Call, args: ArchiveProject) -> Json:
        """Pause a project and leave it out of lists, or bring it back as it was."""

        async def unit(tx: Tx) -> Json:
            at = self._ctx.now() if args.archived else None
            await tx.run("update projects set archived_at = ? where id = ?", at, args.project_id)
            by = call.caller.agent_id
            await self._pauses.change(tx, args.project_id, paused=args.archived, by=by)
            return await self._project(tx, args.project_id)

        return await call.write(self._ctx.store, unit)

    async def delete_project(self, call: Call, args: OneProject) -> Json:
        """Take an archived project out of everybody's sight for good."""

        async def unit(tx: Tx) -> Json:
            project = await self._directory.project(tx, args.project_id)
            if project is None or not project.archived:
                raise self._ctx.refuse("project_not_archived", 409, project=args.project_id)
            await self._departures.remove_project(tx, args.project_id, call.caller.agent_id)
            return {"project_id": args.project_id}

        return await call.write(self._ctx.store, unit)

    async def _set_paused(self, call: Call, project_id: str, *, paused: bool) -> Json:
        async def unit(tx: Tx) -> Json:
            by = call.caller.agent_id
            changed = await self._pauses.change(tx, project_id, paused=paused, by=by)
            return {"project_id": project_id, "paused": paused, "changed": changed}

        return await call.write(self._ctx.store, unit)

    async def _project(self, tx: Tx, project_id: str) -> Json:
        tx.wake(project_topic(project_id))
        found = await self._directory.project(tx, project_id)
        if found is None:
            raise self._ctx.refuse("project_not_found", 404, project=project_id)
        return {"project": project_shown(found)}

    def _path(self, directory: str | None) -> Path | None:
        path = Path(directory) if directory is not None else None
        if path is not None and not path.is_absolute():
            raise InvalidArguments(self._ctx.texts("errors.directory_not_absolute"))
        return path
