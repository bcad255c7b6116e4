"""The kit for tests of plugins: what should fail a test does fail it."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from aipm_sessions.testing import team

from aipm_core import (
    Access,
    AnyTool,
    Call,
    CallError,
    Json,
    NoArguments,
    Plugin,
    Tx,
    hookimpl,
    tool,
)


class Leaky(Plugin):
    """A tool that refuses, and forgets to take back what it did."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.leak, access=Access.SESSION)
        yield tool(self.refuse, access=Access.SESSION)

    async def leak(self, call: Call, args: NoArguments) -> Json:
        """Change something, then refuse."""

        async def rename(tx: Tx) -> None:
            await tx.run("update agents set name = 'changed'")

        await self.ctx.store.write(rename)
        raise CallError("no", code="refused", status=409)

    async def refuse(self, call: Call, args: NoArguments) -> Json:
        """Refuse."""
        raise CallError("no", code="refused", status=409)


async def test_the_kit_notices_what_a_test_is_there_to_notice(tmp_path: Path) -> None:
    async with team(Leaky, root=tmp_path) as made:
        await made.add("ann")
        with pytest.raises(AssertionError, match="there is no agent nobody"):
            await made.session("nobody")
        ann = await made.session("ann")
        assert (await ann.refused("refuse")).code == "refused"
        with pytest.raises(AssertionError, match="refuse: Reply"):
            await ann.does("refuse")
        with pytest.raises(AssertionError, match="help was not refused"):
            await ann.refused("help")
        with pytest.raises(AssertionError, match="leak was refused and still changed agents"):
            await ann.refused("leak")
        with pytest.raises(AssertionError, match="nothing to do"):
            await ann.awaited_action(0.05)
