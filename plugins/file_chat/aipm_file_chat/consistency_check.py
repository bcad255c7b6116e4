"""Compares the chat files with the store, and writes anew those that differ."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio.to_thread
from aipm_operations.api import Finding
from aipm_sessions.api import Directory

from aipm_core import PluginContext, Reader
from aipm_file_chat.api import Message
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.lines import Line, has_file, line_of, write_whole
from aipm_file_chat.projection import Projection
from aipm_file_chat.safe_paths import FILE, ChatDirectories, ChatPath, UnsafePath
from aipm_file_chat.tables import message_of

_PAGE = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """An agent in a project, and where its file is."""

    project_id: str
    place: ChatPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What is wrong with one file."""

    owner: Owner
    problem: str


class ConsistencyCheck:
    """The ``ChatFiles`` service."""

    def __init__(
        self, ctx: PluginContext[FileChatConfig], directory: Directory, projection: Projection
    ) -> None:
        self._ctx = ctx
        self._directory = directory
        self._projection = projection

    async def waiting(self, db: Reader) -> int:
        """Count the stored messages that are not yet safe in their files."""
        row = await db.one("select count(*) as waiting from chat_outbox")
        return int(row["waiting"]) if row else 0

    async def check(self) -> Finding:
        """Compare every file with the store."""
        await self._projection.tidy()
        files, wrong = 0, list[Difference]()
        async for owner in self._owners():
            files += 1
            if (problem := await self._problem(owner)) is not None:
                wrong.append(Difference(owner=owner, problem=problem))
        if not wrong:
            return Finding(status="ok", message=f"{files} chat files agree with the store")
        first = wrong[0]
        return Finding(
            status="warn",
            message=f"{len(wrong)} of {files} chat files differ from the store: "
            f"{first.owner.place.path} {first.problem}",
            next="aipm doctor --rebuild-chat",
        )

    async def rebuild(self) -> Finding:
        """Write every file that differs anew; the old one is kept beside it."""
        await self._projection.tidy()
        rebuilt, failed = 0, list[str]()
        async for owner in self._owners():
            if await self._problem(owner) is None:
                continue
            try:
                async with self._projection.turn():  # for one file: messages wait meanwhile
                    self._projection.doubt()
                    await self._rewrite(owner)
                rebuilt += 1
            except (OSError, UnsafePath) as error:
                failed.append(f"{owner.place.path}: {error}")
        if failed:
            return Finding(
                status="fail",
                message=f"{len(failed)} chat files cannot be written: {failed[0]}",
                next="put a plain directory there, then run aipm doctor --rebuild-chat again",
            )
        return Finding(status="ok", message=f"{rebuilt} chat files were written anew")

    async def _owners(self) -> AsyncIterator[Owner]:
        """Yield everybody who has sent or received something where files can be."""
        rows = await self._ctx.store.scan(
            "select distinct project_id, sender_id as agent_id from messages union "
            "select distinct project_id, receiver_id from messages order by 1, 2"
        )
        for row in rows:
            project = await self._directory.project(self._ctx.store, row["project_id"])
            if project and project.directory and has_file(row["agent_id"]):
                place = ChatPath(str(project.directory), row["agent_id"])
                yield Owner(project_id=project.id, place=place)

    async def _problem(self, owner: Owner) -> str | None:
        """Compare one file, while others go on sending.

        What was in the outbox before the file was read, or came later, may be in it or not.
        """
        settled = await self._settled(owner)
        try:
            found = await anyio.to_thread.run_sync(_lines_found, owner.place)
        except UnsafePath as error:
            return f"cannot be used: {error}"
        needed, allowed = Counter[bytes](), Counter[bytes]()
        async for page in self._pages(owner):
            needed.update(_digest(line.text) for line in page if settled(line.seq))
            allowed.update(_digest(line.text) for line in page)
        missing, foreign = (needed - found).total(), (found - allowed).total()
        if missing or foreign:
            return f"lacks {missing} lines and holds {foreign} that are not from the store"
        return None

    async def _settled(self, owner: Owner) -> Callable[[int], bool]:
        """Return which messages must be in the files by now."""
        row = await self._ctx.store.one("select coalesce(max(seq), 0) as last from messages")
        last = row["last"] if row else 0
        agent_id = owner.place.agent_id
        rows = await self._ctx.store.scan(
            "select o.seq from chat_outbox o join messages m on m.seq = o.seq "
            "where m.project_id = ? and (m.sender_id = ? or m.receiver_id = ?)",
            *(owner.project_id, agent_id, agent_id),
        )
        waiting = {row["seq"] for row in rows}
        return lambda seq: seq <= last and seq not in waiting

    async def _pages(self, owner: Owner) -> AsyncIterator[list[Line]]:
        """Yield the lines the file should have, page by page."""
        agent_id, after = owner.place.agent_id, 0
        while True:
            rows = await self._ctx.store.scan(
                "select * from messages where project_id = ? and (sender_id = ? or "
                "receiver_id = ?) and seq > ? order by seq limit ?",
                *(owner.project_id, agent_id, agent_id, after, _PAGE),
            )
            messages: list[Message] = [message_of(row) for row in rows]
            if not messages:
                return
            after = messages[-1].seq
            yield [line_of(message, agent_id) for message in messages]

    async def _rewrite(self, owner: Owner) -> None:
        """Put a new file in the place of whatever stands there; nothing is followed or lost."""
        fresh = f"{FILE}.{secrets.token_hex(4)}.new"
        moment = datetime.fromtimestamp(self._ctx.clock(), UTC)
        kept = f"{FILE}.{moment:%Y%m%dT%H%M%S}.{secrets.token_hex(2)}.old"
        with ChatDirectories() as directories, directories.folder(owner.place) as folder:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(fresh, flags, 0o600, dir_fd=folder)
            try:
                async for page in self._pages(owner):
                    await anyio.to_thread.run_sync(
                        write_whole, file, b"".join(line.text for line in page)
                    )
                await anyio.to_thread.run_sync(os.fsync, file)
            finally:
                os.close(file)
            with suppress(FileNotFoundError):
                _keep(folder, kept)
            os.rename(fresh, FILE, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)


def _keep(folder: int, kept: str) -> None:
    """Give what stands in the file's place a second name, so that it is never without a file."""
    try:
        os.link(FILE, kept, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:  # a directory, or a file system without links
        os.rename(FILE, kept, src_dir_fd=folder, dst_dir_fd=folder)


def _lines_found(place: ChatPath) -> Counter[bytes]:
    found = Counter[bytes]()
    with ChatDirectories() as directories, directories.file(place, create=False) as file:
        for line in _lines(file):
            found[_digest(line)] += 1
    return found


def _lines(file: int) -> Iterator[bytes]:
    with open(os.dup(file), "rb") as reader:  # noqa: PTH123 - from a descriptor
        reader.seek(0)
        yield from reader


def _digest(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()
