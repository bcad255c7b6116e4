"""A third-party plugin that behaves as badly as a plugin without malice can."""

from __future__ import annotations

from collections.abc import Iterable

import anyio

from aipm_core import Access, AnyTool, Call, Event, Json, NoArguments, Plugin, Tx, hookimpl, tool

FLOOD = 3_000
HUNDRED_MEGABYTES = 100_000_000


class FaultyPlugin(Plugin):
    """Raises, hangs, floods, and answers more than anybody can read."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.faulty_raise, access=Access.ANYONE)
        yield tool(self.faulty_hang, access=Access.ANYONE, deadline=0.5)
        yield tool(self.faulty_flood, access=Access.ANYONE)
        yield tool(self.faulty_huge, access=Access.ANYONE)

    async def faulty_raise(self, call: Call, args: NoArguments) -> Json:
        """Fail in the middle of a write."""

        async def write(tx: Tx) -> None:
            await tx.run("insert into projects (id, name, created_at) values ('faulty', '', '')")
            raise RuntimeError("faulty")

        await self.ctx.store.write(write)

    async def faulty_hang(self, call: Call, args: NoArguments) -> Json:
        """Never come back."""
        await anyio.sleep_forever()

    async def faulty_flood(self, call: Call, args: NoArguments) -> Json:
        """Tell everybody everything, thousands of times."""
        async with anyio.create_task_group() as tasks:
            for number in range(FLOOD):
                event = Event(type="onNoise", payload={"number": number}, system=True)
                tasks.start_soon(self.ctx.events.publish, event)
        return {"events": FLOOD}

    async def faulty_huge(self, call: Call, args: NoArguments) -> Json:
        """Answer with 100 MB."""
        return {"text": "x" * HUNDRED_MEGABYTES}
