"""The record of every decision: each entry carries the digest of all entries before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias

import anyio

from aipm_core import Json, PluginContext, Tx, background
from aipm_policy.api import Inquiry
from aipm_policy.config import PolicyConfig
from aipm_policy.digest import canonical, sha256
from aipm_policy.kept_calls import keep_call

AuditOutcome: TypeAlias = Literal[
    "allowed",
    "denied",
    "expired",
    "cancelled",
    "no_confirmer",
    "policy_error",
    "answer_refused",
    "first_yes",
]
_FLUSH_SECONDS = 0.2  # what a crash can take of the plain permissions
_MAX_BACKLOG = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One decision: who wanted what, which rule said what, what a person said, how it ended."""

    agent_id: str | None
    session_id: str | None
    project_id: str | None
    tool: str
    args_digest: str
    rule: str
    decision: str
    outcome: AuditOutcome
    human_decision: str | None = None
    human_id: str | None = None
    confirmation_id: str | None = None
    at: str = ""
    inquiry: Inquiry | None = None
    """The call, if the entry is about one: kept beside the trail for rehearsals, not in it."""


_SHOWN = tuple(field.name for field in fields(Entry) if field.name not in ("at", "inquiry"))


class AuditTrail:
    """Appends entries. Refusals and confirmed calls are on disk before the caller is answered.

    Calls that no rule speaks about are allowed by the hundred; theirs are written in batches.
    """

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        self._ctx = ctx
        self._backlog: list[Entry] = []
        self._waiting = anyio.Event()

    async def record(self, tx: Tx, entry: Entry) -> None:
        """Append one entry together with the change it tells of."""
        head = await tx.one(
            "update policy_audit_head set last_seq = last_seq + 1 where id = 1 "
            "returning last_seq, last_hash"
        )
        if head is None:
            raise RuntimeError(
                "the head of the audit trail is gone; `aipm audit verify` tells more"
            )
        at = entry.at or self._ctx.now()
        text = canonical({name: value for name, value in _values(entry) if value is not None})
        link = link_of(head["last_hash"], head["last_seq"], at, text)
        await tx.run(
            "insert into policy_audit (seq, at, entry, hash) values (?, ?, ?, ?)",
            *(head["last_seq"], at, text, link),
        )
        await tx.run("update policy_audit_head set last_hash = ? where id = 1", link)
        if entry.inquiry is not None and self._ctx.config.rehearsal_days > 0:
            await keep_call(tx, head["last_seq"], entry.inquiry, entry.decision)

    async def write(self, entry: Entry) -> None:
        """Append one entry in a transaction of its own."""
        await self._ctx.store.write(lambda tx: self.record(tx, entry))

    async def later(self, entry: Entry) -> None:
        """Append one entry soon."""
        self._backlog.append(replace(entry, at=self._ctx.now()))
        self._waiting.set()
        if len(self._backlog) >= _MAX_BACKLOG:
            await self._flush()

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Write the backlog while the runtime lives, and the rest of it in the end."""
        async with background(policy_audit=self._upkeep):
            yield
        await self._flush()

    async def _upkeep(self) -> None:
        while True:
            await self._waiting.wait()
            await anyio.sleep(_FLUSH_SECONDS)
            await self._flush()

    async def _flush(self) -> None:
        entries, self._backlog, self._waiting = self._backlog, [], anyio.Event()
        if not entries:
            return

        async def append(tx: Tx) -> None:
            for entry in entries:
                await self.record(tx, entry)

        try:
            # Upkeep that is cancelled here must neither drop the entries nor write them twice.
            await asyncio.shield(self._ctx.store.write(append))
        except Exception:
            self._backlog = [*entries, *self._backlog]
            raise


def _values(entry: Entry) -> Iterator[tuple[str, str | None]]:
    # asdict() copies every value: 8 times slower, and every call that writes passes here.
    return ((name, getattr(entry, name)) for name in _SHOWN)


def link_of(before: str, seq: int, at: str, entry: str) -> str:
    """Return the digest of one entry and of everything before it."""
    return sha256(canonical([before, seq, at, entry]))


def plain(seq: int, at: str, entry: dict[str, Json]) -> dict[str, Json]:
    """Return an entry as it is shown."""
    return {"seq": seq, "at": at, **entry}
