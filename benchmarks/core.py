"""The core: pipeline, store, command line."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from statistics import median

import anyio
from aipm_devkit.testing import TASK, running
from aipm_sessions.plugin import ADMINISTRATION, Sessions

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Authorizer,
    Call,
    Json,
    Phase,
    Plugin,
    Reply,
    Request,
    ResponseMiddleware,
    Session,
    Tx,
    hookimpl,
    tool,
)
from aipm_core.deadline import within

STEPS = 5


class Nothing(Arguments):
    """Arguments of the measured tool."""

    a: int = 1


class Tools(Plugin):
    """A tool that does nothing, and one that reads."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.nothing, access=Access.SESSION)
        yield tool(self.read, access=Access.SESSION)

    async def nothing(self, call: Call, args: Nothing) -> Json:
        """Do nothing."""
        return {"ok": True}

    async def read(self, call: Call, args: Nothing) -> Json:
        """Read one row."""
        row = await self.ctx.store.one("select name from projects where id = ?", "p")
        return {"name": row["name"] if row else None}


class Steps(Plugin):
    """Five authorizers and five middleware that let everything pass."""

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        for number in range(STEPS):
            yield Authorizer(name=f"a{number}", check=self._check)

    @hookimpl
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        for number in range(STEPS):
            yield ResponseMiddleware(
                name=f"m{number}", apply=self._apply, phase=Phase.ENRICH, on_error="fail"
            )

    async def _check(self, call: Call) -> None:
        return None

    async def _apply(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        return reply


async def per_call(call: Callable[[], Awaitable[object]], count: int = 20_000) -> float:
    """Return the best of five: microseconds a call."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count // 5):
            await call()
        best = min(best, (time.perf_counter() - start) / (count // 5))
    return best * 1e6


async def pipeline() -> None:
    """Measure what the road itself costs."""
    async with running(Tools) as bare, running(Tools, Steps) as full:
        request = Request(tool="nothing", arguments={"a": 2}, session=TASK)
        alone = await per_call(lambda: bare.runtime.call(request))
        stepped = await per_call(lambda: full.runtime.call(request))
    print(f"one call, no steps                    {alone:8.1f} µs")
    print(f"with {STEPS} authorizers, {STEPS} middleware       {stepped:8.1f} µs  (≤ 15 wanted)")


async def deadlines() -> None:
    """Measure what a deadline costs a function that does not wait."""

    async def nothing() -> None:
        return None

    async def under_anyio() -> None:
        with anyio.fail_after(5):
            await nothing()

    ours = await per_call(lambda: within(5, nothing()))
    anyios = await per_call(under_anyio)
    print(f"deadline around a step, ours           {ours:7.2f} µs")
    print(f"the same with anyio.fail_after         {anyios:7.2f} µs  ({anyios / ours:.0f}×)")


async def reads() -> None:
    """Measure an authenticated read, token and all."""
    async with running(Sessions, Tools) as aipm:
        administration = aipm.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "P", None)
        _, passkey = await administration.add_agent(
            "a", project_id="p", name="A", kind="ai", role="worker", parent=None
        )
        login = {"agent_id": "a", "passkey": passkey, "project_id": "p"}
        token = (await aipm.call("authenticate", None, **login)).result["session_token"]
        request = Request(tool="read", arguments={"a": 2}, credential=token)
        cost = await per_call(lambda: aipm.runtime.call(request))
    print(f"authenticated read                    {1e6 / cost:8.0f} /s  (≥ 25,000 wanted)")


async def writes() -> None:
    """Measure durable writes by how many callers write at once."""

    async def unit(tx: Tx) -> None:
        await tx.run("insert into event_streams (stream, last_seq) values (hex(randomblob(8)), 1)")

    async with running() as aipm:
        for callers in (1, 16, 128):
            each = max(20, 8000 // callers)

            async def write(each: int = each) -> None:
                for _ in range(each):
                    await aipm.runtime.store.write(unit)

            start = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                for _ in range(callers):
                    tasks.start_soon(write)
            rate = callers * each / (time.perf_counter() - start)
            wanted = "  (≥ 15,000 wanted)" if callers == 16 else ""
            print(f"durable units, {callers:3} callers            {rate:8.0f} /s{wanted}")


def command_line() -> None:
    """Measure whole commands."""
    aipm = Path(sys.executable).with_name("aipm")
    with tempfile.TemporaryDirectory() as place:
        for arguments, wanted in (("--help", 250), ("plugins list --json", 400)):
            times = []
            for _ in range(7):
                start = time.perf_counter()
                subprocess.run(
                    [aipm, *arguments.split()], cwd=place, check=True, stdout=subprocess.DEVNULL
                )
                times.append((time.perf_counter() - start) * 1000)
            name = f"aipm {arguments}"
            print(f"{name:<37} {median(times):8.0f} ms  (≤ {wanted} wanted)")


def run() -> None:
    """Print all numbers of the core."""
    for measure in (pipeline, deadlines, reads, writes):
        anyio.run(measure)
    command_line()
