"""The kernel starts without any plugin, and with each part of the host replaced by a stand-in."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_cli.discovery import choose, installed, load
from aipm_cli.settings import PluginSettings, Settings
from aipm_sessions.plugin import Sessions
from aipm_store.event_log import SqlEventLog
from aipm_store.sqlite import SqliteStore

from aipm_core import (
    Access,
    AnyTool,
    Call,
    Clock,
    EventLog,
    Gateway,
    Json,
    Migration,
    NoArguments,
    Plugin,
    PluginClass,
    PluginContext,
    Request,
    ServeMode,
    Transport,
    hookimpl,
    hookspec,
    tool,
)
from aipm_core.host import BaseSettings, Runtime


class Greeter(Plugin):
    """Greets."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.greet, access=Access.ANYONE)

    async def greet(self, call: Call, arguments: NoArguments) -> Json:
        """Greet the caller."""
        return {"text": "hello"}


class Remembering(SqliteStore):
    """A stand-in for the engine: it notes what the runtime asks of it."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self.asked: list[str] = []

    @asynccontextmanager
    async def opened(self, migrations: Mapping[str, Sequence[Migration]]) -> AsyncGenerator[None]:
        self.asked += ["opened", *migrations]
        async with super().opened(migrations):
            yield
        self.asked.append("closed")

    def event_log(self, clock: Clock) -> EventLog:  # type: ignore[override]
        self.asked.append("event_log")
        return SqlEventLog(self, clock)


@asynccontextmanager
async def opened(
    engine: SqliteStore, classes: Mapping[str, PluginClass], place: Path
) -> AsyncGenerator[Runtime]:
    runtime = Runtime(BaseSettings(data_dir=place), engine, classes)
    async with runtime.opened():
        yield runtime


async def test_it_starts_without_any_plugin(tmp_path: Path) -> None:
    engine = Remembering(tmp_path)
    async with opened(engine, {}, tmp_path) as runtime:
        assert runtime.catalog() == ()
        reply = await runtime.call(Request(tool="greet"))
        assert reply.error is not None
        assert reply.error.code == "tool_not_found"
        await runtime.serve(ServeMode.SERVER)  # nothing to open, so nothing to wait for
    assert engine.asked == ["event_log", "opened", "closed"]


async def test_another_server_takes_the_place_of_ours(tmp_path: Path) -> None:
    replies: list[Json] = []

    class Pipe(Plugin):
        """A way in that carries one call."""

        @hookimpl
        def aipm_transports(self) -> Iterable[Transport]:
            yield Transport(name="pipe", serve=self._serve)

        async def _serve(self, gateway: Gateway) -> None:
            replies.append((await gateway.call(Request(tool="greet"))).result)

    plugins = {"greeter": Greeter, "http_server": Pipe}
    async with opened(Remembering(tmp_path), plugins, tmp_path) as runtime:
        await runtime.serve(ServeMode.STDIO)
        assert replies == []
        with anyio.fail_after(10):
            await runtime.serve(ServeMode.SERVER)
    assert replies == [{"text": "hello"}]


async def test_other_operations_take_the_place_of_ours(tmp_path: Path) -> None:
    class Hooks:
        """What others give to these operations."""

        @hookspec
        def aipm_retention(self) -> Iterable[object]:
            """Anything."""
            return ()

    class Operations(Plugin):
        """Only lists what it was given."""

        hooks = Hooks

        def __init__(self, ctx: PluginContext[Any]) -> None:
            super().__init__(ctx)

        def names(self) -> set[str]:
            return {owned.plugin for owned in self.ctx.given(Hooks.aipm_retention)}

    plugins: dict[str, PluginClass] = {"sessions": Sessions, "operations": Operations}
    async with opened(Remembering(tmp_path), plugins, tmp_path) as runtime:
        operations = runtime.manager.get_plugin("operations")
        assert isinstance(operations, Operations)
        assert operations.names() == {"sessions"}


async def test_without_operations_and_server_the_features_start(tmp_path: Path) -> None:
    off = {name: PluginSettings(enabled=False) for name in ("http_server", "operations")}
    settings = Settings(data_dir=tmp_path, plugins=off)
    classes = load(choose(installed(), settings), settings)
    async with opened(Remembering(tmp_path), classes, tmp_path) as runtime:
        assert "sessions" in runtime.plugins()
        assert not runtime.plugins().keys() & off.keys()
        reply = await runtime.call(Request(tool="help"))
        assert reply.error is None


SCRIPT = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
{work}
"""
START = """
import anyio
from aipm_core import Request
from aipm_core.host import BaseSettings, Runtime
from aipm_store.sqlite import SqliteStore
from importlib.metadata import entry_points
from pathlib import Path

async def run():
    place = Path(sys.argv[1])
    classes = {point.name: point.load() for point in entry_points(group="aipm")}
    runtime = Runtime(BaseSettings(data_dir=place), SqliteStore(place), classes)
    async with runtime.opened():
        reply = await runtime.call(Request(tool="help"))
        print(len(runtime.plugins()), reply.error)

anyio.run(run)
"""
HELP = """
from aipm_cli import main
sys.exit(main(["--help"]))
"""


def run(tmp_path: Path, missing: Sequence[str], work: str) -> str:
    script = SCRIPT.format(missing=missing, work=work)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_plugins_start_without_a_command_line(tmp_path: Path) -> None:
    shown = run(tmp_path, ("aipm_cli", "aipm_devkit", "aipm_demo", "typer"), START)
    count, error = shown.split()
    assert int(count) > 10
    assert error == "None"


@pytest.mark.parametrize("package", ["aipm_demo", "aipm_devkit"])
def test_the_command_line_goes_on_without_a_part(tmp_path: Path, package: str) -> None:
    shown = run(tmp_path, (package,), HELP)
    lines = [line.split(maxsplit=1) for line in shown.splitlines() if line.startswith("  ")]
    commands = {words[0]: words[-1] for words in lines}
    broken = [name for name, text in commands.items() if text.startswith("(broken")]
    assert broken == (["demo"] if package == "aipm_demo" else [])
    assert commands["up"].startswith("Start the server")
