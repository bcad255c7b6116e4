"""``file:read`` and ``file:list``: the project's files, for the agent of a user interface."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Annotated

import anyio.to_thread
from aipm_sessions.api import Directory
from pydantic import Field

from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.project_directory import OutOfBounds, ProjectDirectory
from aipm_core import Arguments, Call, Json, PluginContext

_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class ReadFile(Arguments):
    """Arguments of ``file:read``."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    offset: Annotated[int, Field(ge=0, le=2**40)] = 0


class ListFiles(Arguments):
    """Arguments of ``file:list``."""

    path: Annotated[str, Field(max_length=4096)] = "."


class Files:
    """Reads and lists, inside the caller's project only."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig], directory: Directory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def read(self, call: Call, args: ReadFile) -> Json:
        """Return a piece of a text file."""
        project_directory = await self.project_directory(call)
        return await self._inside(args.path, lambda: self._read(project_directory, args))

    async def list(self, call: Call, args: ListFiles) -> Json:
        """List a directory; links are named, never followed."""
        project_directory = await self.project_directory(call)
        return await self._inside(args.path, lambda: self._list(project_directory, args))

    async def project_directory(self, call: Call) -> ProjectDirectory:
        """Return the directory of the caller's project."""
        project = await self._directory.project(self._ctx.store, call.caller.project_id)
        if project is None or project.directory is None:
            raise self._ctx.refuse("working_directory_not_set", 500)
        return ProjectDirectory(project.directory, self._ctx.data_dir)

    async def _inside(self, path: str, work: Callable[[], Json]) -> Json:
        try:
            return await anyio.to_thread.run_sync(work)
        except FileNotFoundError:
            raise self._ctx.refuse("file_not_found", 404, path=path) from None
        except OutOfBounds:
            raise self._ctx.refuse("path_not_allowed", 403, path=path) from None

    def _read(self, project_directory: ProjectDirectory, args: ReadFile) -> Json:
        with project_directory.file(args.path) as descriptor:
            size = os.fstat(descriptor).st_size
            content = os.pread(descriptor, self._ctx.config.file_bytes, args.offset)
        end = args.offset + len(content)
        return {
            "path": args.path,
            "content": content.decode("utf-8", errors="replace"),
            "size": size,
            "next_offset": end if end < size else None,
        }

    def _list(self, project_directory: ProjectDirectory, args: ListFiles) -> Json:
        limit = self._ctx.config.list_entries
        with project_directory.directory(args.path) as descriptor:
            names = sorted(os.listdir(descriptor))  # noqa: PTH208 - a descriptor has no path
            entries = [_entry(descriptor, name) for name in names[:limit]]
        return {"path": args.path, "entries": entries, "has_more": len(names) > limit}


def _entry(directory: int, name: str) -> Json:
    shown = name.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
    try:
        info = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return {"name": shown, "type": "other"}
    kind = _KINDS.get(stat.S_IFMT(info.st_mode), "other")
    return {"name": shown, "type": kind, **({"size": info.st_size} if kind == "file" else {})}
