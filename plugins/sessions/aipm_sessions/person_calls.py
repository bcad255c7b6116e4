"""Remembers what people called under a key, so that a repetition has no second effect."""

from __future__ import annotations

import orjson
from aipm_operations.api import old_rows

from aipm_core import CallError, Json, PluginContext, Reader, Reply, Session, Tx, Unit
from aipm_sessions.api import Alongside, RememberedCall, arguments_digest
from aipm_sessions.config import SessionsConfig

forget_calls = old_rows(
    "delete from person_calls where (person_id, key) in "
    "(select person_id, key from person_calls where at < ? limit ?)"
)


class SqlPersonCalls:
    """The ``PersonCalls`` service."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx

    def once(
        self,
        key: str,
        tool: str,
        arguments: Json,
        conflict: CallError,
        alongside: Alongside | None = None,
    ) -> RememberedCall:
        """Return the memory of one call."""
        digest = arguments_digest({"tool": tool, "arguments": arguments})
        return OneCall(self._ctx, key, digest, conflict, alongside)

    async def forget(self, tx: Tx, before: float) -> int:
        """Forget some calls of before a moment."""
        return await forget_calls(tx, before)


class OneCall:
    """A call under a key: its answer is a row, written in the transaction of its effect.

    The answer of a tool that hands out a secret is not kept: a repetition is told just that.
    """

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        key: str,
        digest: str,
        conflict: CallError,
        alongside: Alongside | None,
    ) -> None:
        self.repeated = False
        self._ctx = ctx
        self._key = key
        self._digest = digest
        self._conflict = conflict
        self._alongside = alongside
        self._caller: Session | None = None
        self._remembered = False

    async def recall(self, caller: Session) -> Reply | None:
        """Return the earlier answer, if this very call was made before."""
        self._caller = caller
        return await self._earlier(self._ctx.store, caller)

    async def write(self, caller: Session, unit: Unit[Json], *, kept: bool) -> Json:
        """Run the unit, unless it was run before; what is done alongside happens with it."""

        async def remembered(tx: Tx) -> Json:
            if (earlier := await self._earlier(tx, caller)) is not None:
                return earlier.result
            result = await unit(tx)
            await self._remember(tx, caller, result if kept else None)
            if self._alongside is not None:
                await self._alongside(tx)
            return result

        return await self._ctx.store.write(remembered)

    async def settle(self, reply: Reply) -> None:
        """Remember the answer of a tool that did not write through ``Call.write``."""
        caller = self._caller
        if caller is None or reply.error is not None or self._remembered or self.repeated:
            return

        async def unit(tx: Tx) -> None:
            if await self._earlier(tx, caller) is None:
                await self._remember(tx, caller, reply.result)

        await self._ctx.store.write(unit)

    async def _earlier(self, db: Reader, caller: Session) -> Reply | None:
        row = await db.one(
            "select digest, result from person_calls where person_id = ? and key = ?",
            *(caller.agent_id, self._key),
        )
        if row is None:
            return None
        if row["digest"] != self._digest:
            raise self._conflict
        if row["result"] is None:
            raise self._ctx.refuse("result_not_kept", 409)
        self.repeated = True
        return Reply(result=orjson.loads(row["result"]))

    async def _remember(self, tx: Tx, caller: Session, result: Json) -> None:
        kept = None if result is None else orjson.dumps(result).decode()
        await tx.run(
            "insert into person_calls (person_id, key, digest, result, at) values (?, ?, ?, ?, ?)",
            *(caller.agent_id, self._key, self._digest, kept, self._ctx.clock()),
        )
        self._remembered = True
