"""A third-party plugin that does not let go of what others need."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Authorizer,
    Call,
    Json,
    Lifespan,
    NoArguments,
    Plugin,
    Stage,
    Tx,
    background,
    hookimpl,
    tool,
)

LONG = 1.2  # seconds: more than twice what is reported
_BAD = re.compile(r"(?:a|a)*b")


class Hold(Arguments):
    """How large the text for the expression is."""

    letters: int = 1


class BlockingPlugin(Plugin):
    """Blocks the event loop and the writer, in every way a plugin can."""

    def __init__(self, ctx: object) -> None:
        super().__init__(ctx)  # type: ignore[arg-type]
        self._wanted = anyio.Event()

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.hold_sleep, access=Access.ANYONE)
        yield tool(self.hold_regex, access=Access.ANYONE)
        yield tool(self.hold_unit, access=Access.ANYONE)
        yield tool(self.hold_later, access=Access.ANYONE)
        yield tool(self.wait, access=Access.ANYONE)
        yield tool(self.stop_here, access=Access.ANYONE)

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="patient_gate", check=self._gate, stage=Stage.GATE)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        yield Lifespan(name="blocking", open=self._life)

    async def hold_sleep(self, call: Call, args: NoArguments) -> Json:
        """Sleep on the event loop."""
        await anyio.lowlevel.checkpoint()
        time.sleep(LONG)  # noqa: ASYNC251 - line of hold_sleep
        return {}

    async def hold_regex(self, call: Call, args: Hold) -> Json:
        """Match for ever."""
        return {"found": _BAD.match("a" * args.letters) is not None}  # line of hold_regex

    async def hold_unit(self, call: Call, args: NoArguments) -> Json:
        """Sleep while everybody who writes waits."""

        async def slow_unit(tx: Tx) -> None:
            await tx.one("select 1")
            time.sleep(LONG)  # noqa: ASYNC251 - line of hold_unit

        await self.ctx.store.write(slow_unit)
        return {}

    async def hold_later(self, call: Call, args: NoArguments) -> Json:
        """Have a background job block."""
        self._wanted.set()
        return {}

    async def wait(self, call: Call, args: NoArguments) -> Json:
        """Wait as one should."""
        await anyio.sleep(LONG)
        return {}

    async def stop_here(self, call: Call, args: NoArguments) -> Json:
        """Be suspended in the middle of a call, as a whole process."""
        os.kill(os.getpid(), signal.SIGSTOP)
        return {}

    async def _gate(self, call: Call) -> None:
        await anyio.sleep(LONG)

    @asynccontextmanager
    async def _life(self) -> AsyncGenerator[None]:
        async with background(blocking=self._work):
            yield

    async def _work(self) -> None:
        await self._wanted.wait()
        time.sleep(LONG)  # noqa: ASYNC251 - line of hold_later
