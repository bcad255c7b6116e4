"""A runtime with an inbox and a tool that can be held, for tests of notifications."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from aipm_devkit.testing import CHAT, TASK, TestRuntime, running
from aipm_notifications.api import INBOX, inbox_topic
from aipm_notifications.plugin import Notifications

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    CallError,
    Json,
    Plugin,
    Reply,
    Trait,
    hookimpl,
)
from aipm_core import tool as make_tool
from aipm_core.clock import Clock, system_clock

NONE = "通知はありません"
UNREAD = "【重要】通知があります。get_notifications を呼び出して確認してください。"
REPLACED = (
    "通知があります。\n\n1. get_notifications() を呼び出して詳細を確認してください\n"
    "2. 通知の指示に従ってください"
)


class Echo(Arguments):
    text: str = ""
    fail: bool = False
    wait_seconds: float = 0


class Probe(Plugin):
    """A tool that counts how often it ran and can wait as every long poll does."""

    def __init__(self, ctx: Any) -> None:
        super().__init__(ctx)
        self.runs: list[str] = []

    @hookimpl
    def aipm_tools(self) -> list[AnyTool]:
        return [
            make_tool(self.echo, access=Access.ANYONE),
            make_tool(self.logout, access=Access.SESSION, traits=(Trait.WAY_OUT,)),
            make_tool(self.report_completed, access=Access.TASK, traits=(Trait.WAY_OUT,)),
        ]

    async def echo(self, call: Call, args: Echo) -> Json:
        """Say it again."""
        self.runs.append(args.text)
        if args.wait_seconds:
            inbox = self.ctx.services.find(INBOX)
            session = call.caller

            async def look() -> bool | None:
                assert inbox is not None
                return await inbox.interrupted(self.ctx.store, session) or None

            topic = inbox_topic(session.project_id, session.agent_id)
            await self.ctx.store.wait_until((topic,), look, args.wait_seconds)
        if args.fail:
            raise CallError("no", code="refused", status=409)
        return {"text": args.text}

    async def logout(self, call: Call, args: Echo) -> Json:
        """End."""
        return {"success": True}

    async def report_completed(self, call: Call, args: Echo) -> Json:
        """Report."""
        return {"success": True}


class InboxRuntime:
    """A runtime with the probe, and short ways to leave and read notifications."""

    def __init__(self, aipm: TestRuntime) -> None:
        self.aipm = aipm
        self.call = aipm.call

    async def put(self, kind: str = "interrupt", **more: Any) -> str:
        inbox = self.aipm.runtime.services.use(INBOX)
        fields = {"agent_id": "agent-a", "project_id": "p", "message": "m", "type": kind, **more}
        return str(await self.aipm.runtime.store.write(lambda tx: inbox.put(tx, **fields)))

    async def read(self, session: Any = TASK, **more: Any) -> dict[str, Any]:
        reply = await self.aipm.call("get_notifications", session, **more)
        assert isinstance(reply.result, dict)
        return reply.result

    async def ids(self, session: Any = TASK, **more: Any) -> list[str]:
        return [n["id"] for n in (await self.read(session, **more))["notifications"]]


@asynccontextmanager
async def inbox_runtime(
    data_dir: Path | None = None, clock: Clock = system_clock, locale: Any = "ja", **config: Any
) -> AsyncGenerator[InboxRuntime]:
    async with running(
        Notifications, Probe, data_dir=data_dir, clock=clock, locale=locale, notifications=config
    ) as aipm:
        yield InboxRuntime(aipm)


def notice(reply: Reply) -> Any:
    return reply.envelope().get("notification")


OTHERS = [
    replace(TASK, id="s-b", agent_id="agent-b"),
    replace(TASK, id="s-q", project_id="q"),
    CHAT,
]


async def interrupt_during(d: InboxRuntime, *, session: Any = TASK, **arguments: Any) -> Reply:
    """Call echo, and interrupt it while it waits."""
    replies: list[Reply] = []

    async def call() -> None:
        replies.append(await d.call("echo", session, wait_seconds=60.0, **arguments))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert not replies
        await d.put(action="cancel", audience=session.purpose)
    return replies[0]
