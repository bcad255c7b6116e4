"""Nothing that a program has started outlives it, however it got away from its parent."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from signal import SIGKILL
from typing import Any

import anyio
import pytest
from aipm_agent_loop.plugin import AgentLoop
from aipm_agent_loop.testing import PersonSession
from aipm_devkit.program import Install
from aipm_devkit.testing import TestRuntime, running
from aipm_policy.plugin import Policy
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.plugin import UiGateway

from aipm_core import Request, Session

CALLER = Session(id="uis_x", agent_id="bot", project_id="p", purpose="chat")
ALLOW = {"rules": [{"tool": "shell:execute", "decision": "ALLOW"}]}
PLUGINS = (Sessions, UiGateway, Policy, AgentLoop)
# Leaves a process behind that hears of nobody's end, and says so once it really runs.
PROGRAM = """
import os, signal, sys, time
way, marker, then = sys.argv[1:]
ready, tell = os.pipe()
if os.fork() == 0:
    os.close(ready)
    os.setsid()
    if way == "twice" and os.fork() != 0:
        os._exit(0)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(1000)", marker])
os.close(tell)
os.read(ready, 1)
open(marker, "w").close()
print("left", flush=True)
if then == "kill":
    os.kill(os.getppid(), signal.SIGKILL)
if then != "end":
    time.sleep(1000)
sys.exit(5)
"""
WAYS = ["setsid", "twice"]


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Run on both event loops: their subprocesses are not the same, and the server uses uvloop."""
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
def marker(request: pytest.FixtureRequest) -> str:
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return f"left-{os.getpid()}-{name}"


def alive(marker: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(f"{entry.name}: {line}")
    return found


async def until(path: Path) -> None:
    with anyio.fail_after(10):
        while not os.path.exists(path):  # noqa: ASYNC110, ASYNC240, PTH110 - another process makes it
            await anyio.sleep(0.01)


async def run(aipm: TestRuntime, root: Path, *words: str) -> Any:
    administration = aipm.runtime.services.use(ADMINISTRATION)
    await administration.add_project("p", "p", root)
    command = [sys.executable, "-c", PROGRAM, *words]
    reply = await aipm.runtime.call(
        Request(
            tool="shell:execute",
            arguments={"command": command},
            session=CALLER,
            audience="in_process",
        )
    )
    assert reply.error is None, reply.error
    return reply.result


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_when_a_program_ends(tmp_path: Path, marker: str, way: str) -> None:
    async with running(*PLUGINS, policy=ALLOW) as aipm:
        result = await run(aipm, tmp_path, way, marker, "end")
        assert alive(marker) == []
    assert (result["stdout"], result["exit_code"]) == ("left\n", 5)


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_when_its_time_is_up(tmp_path: Path, marker: str, way: str) -> None:
    async with running(*PLUGINS, policy=ALLOW, agent_loop={"shell_seconds": 2}) as aipm:
        result = await run(aipm, tmp_path, way, marker, "stay")
        assert alive(marker) == []
    assert (result["stdout"], result["timed_out"]) == ("left\n", True)


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_of_a_cancelled_call(tmp_path: Path, marker: str, way: str) -> None:
    async with running(*PLUGINS, policy=ALLOW) as aipm:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, aipm, tmp_path, way, marker, "stay")
            await until(tmp_path / marker)
            assert len(alive(marker)) > 1
            tasks.cancel_scope.cancel()
        assert alive(marker) == []


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_of_a_program_that_kills_its_launcher(
    tmp_path: Path, marker: str, way: str
) -> None:
    async with running(*PLUGINS, policy=ALLOW) as aipm:
        result = await run(aipm, tmp_path, way, marker, "kill")
        assert alive(marker) == []
    assert (result["stdout"], result["exit_code"]) == ("left\n", -SIGKILL)


async def test_a_program_that_a_signal_ended_is_told_apart(tmp_path: Path) -> None:
    async with running(*PLUGINS, policy=ALLOW) as aipm:
        await aipm.runtime.services.use(ADMINISTRATION).add_project("p", "p", tmp_path)
        codes = []
        for name in ("TERM", "KILL", "SEGV", "USR1"):
            words = ["sh", "-c", f"kill -{name} $$"]
            arguments = {"command": words}
            request = Request(
                tool="shell:execute", arguments=arguments, session=CALLER, audience="in_process"
            )
            codes.append((await aipm.runtime.call(request)).result["exit_code"])
    assert codes == [-15, -9, -11, -10]


TOML = """
[plugins.agent_loop]
script = "script.json"
[[plugins.policy.rules]]
tool = "shell:execute"
decision = "ALLOW"
"""


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_left_when_the_server_is_killed(
    tmp_path: Path, marker: str, way: str
) -> None:
    aipm = Install.make(tmp_path, TOML)
    command = [sys.executable, "-c", PROGRAM, way, marker, "stay"]
    use = {"tool": "shell:execute", "args": {"command": command}}
    (tmp_path / "script.json").write_text(json.dumps([[use]]))
    async with running(Sessions, data_dir=tmp_path / ".aipm-data") as made:
        administration = made.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "p", tmp_path)
        common: dict[str, Any] = {"project_id": "p", "role": "worker", "parent": None}
        await administration.add_agent("bot", name="bot", kind="ai", **common)
        await administration.add_agent("ann", name="ann", kind="human", **common)
        token = (await administration.add_token("ann"))["token"]
    with aipm.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            await PersonSession(None, None, ui, ack["sessionId"]).say("go")  # type: ignore[arg-type]
            await until(tmp_path / marker)
            assert len(alive(marker)) > 1
            server.process.send_signal(SIGKILL)
            server.process.wait()
        with anyio.fail_after(5):
            while alive(marker):  # noqa: ASYNC110 - the process table rings no bell
                await anyio.sleep(0.01)
