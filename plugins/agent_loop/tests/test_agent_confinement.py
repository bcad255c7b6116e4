"""The agent's own tools stay inside the project, whatever lies there and whatever is asked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_agent_loop.plugin import AgentLoop
from aipm_devkit.testing import running
from aipm_policy.plugin import Policy
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.plugin import UiGateway

from aipm_core import Json, Reply, Request, Session
from aipm_core.runtime import Runtime

CALLER = Session(id="uis_x", agent_id="bot", project_id="p", purpose="chat")
ALLOW = {"rules": [{"tool": "shell:execute", "decision": "ALLOW"}]}
SECRET = "TOP-SECRET-0451"


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Run on both event loops: their subprocesses are not the same, and the server uses uvloop."""
    return "asyncio", {"use_uvloop": request.param}


class Workshop:
    """A project with tools, and a world outside."""

    def __init__(self, runtime: Runtime, root: Path, outside: Path) -> None:
        self.runtime = runtime
        self.root = root
        self.outside = outside

    async def call(self, tool: str, **arguments: Json) -> Reply:
        request = Request(tool=tool, arguments=arguments, session=CALLER, audience="in_process")
        with anyio.fail_after(20):
            return await self.runtime.call(request)

    async def code(self, tool: str, **arguments: Json) -> str:
        reply = await self.call(tool, **arguments)
        assert SECRET not in json.dumps(reply.envelope())
        return reply.error.code if reply.error else "ok"

    async def shell(self, *words: str) -> Any:
        reply = await self.call("shell:execute", command=list(words))
        assert reply.error is None, reply.error
        return reply.result


@asynccontextmanager
async def workshop(tmp_path: Path, **loop: Any) -> AsyncGenerator[Workshop]:
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (root / "a.txt").write_text("hello\n")
    (root / "sub").mkdir()
    (root / "sub" / "b.txt").write_text("there\n")
    # The data directory may well lie inside the project: `aipm init` puts it there.
    data = root / ".aipm-data"
    async with running(
        *(Sessions, UiGateway, Policy, AgentLoop), data_dir=data, policy=ALLOW, agent_loop=loop
    ) as aipm:
        await aipm.runtime.services.use(ADMINISTRATION).add_project("p", "p", root)
        yield Workshop(aipm.runtime, root, outside)


async def test_files_of_the_project_can_be_read_and_listed(tmp_path: Path) -> None:
    async with workshop(tmp_path, file_bytes=4) as shop:
        for path in ("a.txt", "./a.txt", ".//a.txt"):
            reply = await shop.call("file:read", path=path)
            assert reply.result == {
                "path": path,
                "content": "hell",
                "size": 6,
                "next_offset": 4,
            }
        rest = await shop.call("file:read", path="a.txt", offset=4)
        assert (rest.result["content"], rest.result["next_offset"]) == ("o\n", None)
        listed = await shop.call("file:list", path="sub")
        assert listed.result["entries"] == [{"name": "b.txt", "type": "file", "size": 6}]
        (shop.root / "binary").write_bytes(b"\xff\x00\x01")
        assert (await shop.call("file:read", path="binary")).error is None


WAYS_OUT = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "sub/..",
    "..",
    "/etc/passwd",
    "//etc/passwd",
    "link",
    "dirlink/secret.txt",
    "sub/deeplink",
    "hardlink",
    "fifo",
    "sub",
    "a.txt/x",
    ".aipm-data/aipm.db",
    "./.aipm-data/../.aipm-data/aipm.db",
    ".ai-pm/agents/x/chat.jsonl",
    "a\x00.txt",
    "x/" * 200 + "a",
    ".",
    "/",
]


async def test_nothing_leads_out_of_the_project(tmp_path: Path) -> None:
    async with workshop(tmp_path) as shop:
        secret = shop.outside / "secret.txt"
        (shop.root / "link").symlink_to(secret)
        (shop.root / "dirlink").symlink_to(shop.outside)
        (shop.root / "sub" / "deeplink").symlink_to("../../outside/secret.txt")
        (shop.outside / "other.txt").write_text(SECRET)
        (shop.root / "hardlink").hardlink_to(shop.outside / "other.txt")
        (shop.root / ".ai-pm" / "agents" / "x").mkdir(parents=True)
        (shop.root / ".ai-pm" / "agents" / "x" / "chat.jsonl").write_text(SECRET)
        os.mkfifo(shop.root / "fifo")
        codes = {path: await shop.code("file:read", path=path) for path in WAYS_OUT}
    assert codes == dict.fromkeys(WAYS_OUT, "path_not_allowed")


CLOSED = [
    ".ai-pm",
    ".AI-PM",
    "sub/.ai-pm",
    "sub/inner/.Ai-Pm",
    "sub/.ai-pm/agents",
    "sub/.ai\u200c-pm",
]


async def test_what_agents_write_each_other_is_closed_wherever_it_stands(tmp_path: Path) -> None:
    async with workshop(tmp_path) as shop:
        for path in CLOSED:
            place = shop.root / path / "agents" / "wi"
            place.mkdir(parents=True, exist_ok=True)
            (place / "chat.jsonl").write_text(SECRET)
        read = {p: await shop.code("file:read", path=f"{p}/agents/wi/chat.jsonl") for p in CLOSED}
        listed = {path: await shop.code("file:list", path=path) for path in CLOSED}
        (shop.root / "sub" / "not.ai-pm").mkdir()
        assert await shop.code("file:list", path="sub/not.ai-pm") == "ok"
    assert read == listed == dict.fromkeys(CLOSED, "path_not_allowed")


async def test_what_is_not_there_is_not_found_and_links_are_only_named(tmp_path: Path) -> None:
    async with workshop(tmp_path) as shop:
        assert await shop.code("file:read", path="none.txt") == "file_not_found"
        assert await shop.code("file:list", path="none") == "file_not_found"
        (shop.root / "dirlink").symlink_to(shop.outside)
        (shop.root / "weird\nname").write_text("")
        os.mkfifo(shop.root / "fifo")
        for path in ("dirlink", ".aipm-data", "..", "/", ".ai-pm"):
            assert await shop.code("file:list", path=path) == "path_not_allowed"
        listed = await shop.call("file:list")
    kinds = {entry["name"]: entry["type"] for entry in listed.result["entries"]}
    assert kinds["dirlink"] == "link"
    assert kinds["fifo"] == "other"
    assert kinds["weird\nname"] == "file"


async def test_a_directory_swapped_for_a_link_while_walking_leads_nowhere(tmp_path: Path) -> None:
    async with workshop(tmp_path) as shop:
        inner, away = shop.root / "inner", shop.root / "away"
        inner.mkdir()
        (inner / "secret.txt").write_text("mine")

        def swap() -> None:
            inner.rename(away)
            inner.symlink_to(shop.outside)
            inner.unlink()
            away.rename(inner)

        async with anyio.create_task_group() as tasks:

            async def swap_often() -> None:
                for _ in range(200):
                    await anyio.to_thread.run_sync(swap)

            tasks.start_soon(swap_often)
            for _ in range(200):
                found = await shop.code("file:read", path="inner/secret.txt")
                assert found in {"ok", "path_not_allowed", "file_not_found"}


async def test_a_long_directory_is_cut(tmp_path: Path) -> None:
    async with workshop(tmp_path, list_entries=3) as shop:
        for number in range(5):
            (shop.root / "sub" / f"{number}").write_text("")
        listed = (await shop.call("file:list", path="sub")).result
    assert [entry["name"] for entry in listed["entries"]] == ["0", "1", "2"]
    assert listed["has_more"] is True


async def test_a_command_is_a_program_and_words_never_a_shell(tmp_path: Path) -> None:
    async with workshop(tmp_path) as shop:
        line = "printf %s| $HOME `id` ; touch x && echo 'a b' > y *"
        reply = await shop.call("shell:execute", command=line)
        assert reply.result["stdout"] == "$HOME|`id`|;|touch|x|&&|echo|a b|>|y|*|"
        assert not (shop.root / "x").exists()
        where = await shop.shell("pwd")
        assert where["stdout"].strip() == str(shop.root)
        assert (await shop.shell("cat"))["stdout"] == ""
        missing = await shop.shell("no-such-program")
        assert (missing["exit_code"], "no-such-program" in missing["stderr"]) == (127, True)
        assert (await shop.shell("./a.txt"))["exit_code"] == 126
        assert (await shop.shell("false"))["exit_code"] == 1


async def test_what_is_no_command_is_refused(tmp_path: Path) -> None:
    async with workshop(tmp_path) as shop:
        for command in ("", "   ", "'open", ["a\x00b"], [""]):
            assert await shop.code("shell:execute", command=command) == "invalid_command", command
        wrong: list[Any] = [[], 7, ["x"] * 2000, "x" * 40_000]
        for command in wrong:
            assert await shop.code("shell:execute", command=command) == "invalid_arguments"


async def test_the_environment_carries_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AIPM_SESSION_TOKEN", "LD_PRELOAD", "PYTHONPATH"):
        monkeypatch.setenv(name, SECRET if name != "LD_PRELOAD" else "")
    async with workshop(tmp_path) as shop:
        seen = (await shop.shell("env"))["stdout"]
    assert SECRET not in seen
    assert {line.partition("=")[0] for line in seen.splitlines()} <= {
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ", "LC_CTYPE", "AIPM_PROGRAM"),
    }


def alive(marker: str) -> list[str]:
    """Find processes whose command line holds a marker."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(line)
    return found


async def started(marker: str) -> None:
    with anyio.fail_after(10):
        while not alive(marker):  # noqa: ASYNC110 - the process table rings no bell
            await anyio.sleep(0.01)


async def gone(marker: str) -> None:
    with anyio.fail_after(10):
        while alive(marker):  # noqa: ASYNC110 - the process table rings no bell
            await anyio.sleep(0.01)


FORK = """
import subprocess, sys, time
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", sys.argv[1]])
print("forked", flush=True)
if sys.argv[2] == "stay":
    time.sleep(1000)
"""


@pytest.mark.parametrize("ending", ["stay", "leave"])
async def test_whatever_a_program_starts_ends_with_it(tmp_path: Path, ending: str) -> None:
    marker = f"marker-{os.getpid()}-{ending}"
    async with workshop(tmp_path, shell_seconds=2) as shop:
        result = await shop.shell(sys.executable, "-c", FORK, marker, ending)
        assert result["stdout"] == "forked\n"
        assert result["timed_out"] is (ending == "stay")
        await gone(marker)


async def test_a_cancelled_call_ends_its_program(tmp_path: Path) -> None:
    marker = f"1{os.getpid()}.5"
    async with workshop(tmp_path) as shop:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shop.shell, "sleep", marker)
            await started(f"sleep\x00{marker}")
            tasks.cancel_scope.cancel()
        await gone(f"sleep\x00{marker}")


async def test_output_without_end_is_cut_and_the_program_ended(tmp_path: Path) -> None:
    async with workshop(tmp_path, shell_output_bytes=1000) as shop:
        result = await shop.shell("yes")
        assert result["stdout"] == "y\n" * 500
        assert result["truncated"] is True
        assert result["exit_code"] != 0
        both = await shop.shell(
            *(sys.executable, "-c", "import sys; print('o'); print('e', file=sys.stderr)")
        )
        assert (both["stdout"], both["stderr"], both["truncated"]) == ("o\n", "e\n", False)
