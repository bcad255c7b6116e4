"""Hostile plugins on a real server: it goes on, the plugin is named, and it ends in time."""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from aipm_cli import time_limit
from aipm_cli.program import assemble
from aipm_cli.settings import PluginSettings, Settings
from aipm_devkit.program import Install, Server
from aipm_devkit.testing import running

from aipm_core import (
    Access,
    AnyTool,
    Call,
    Json,
    NoArguments,
    Phase,
    Plugin,
    PluginContext,
    PluginError,
    Reply,
    Request,
    ResponseMiddleware,
    Session,
    hookimpl,
    tool,
)
from tests.agents import Agent
from tests.distributions import on_path, write_distribution

SOURCE = '''
from aipm_http_server.api import Route
class Hostile(Plugin):
    """Does what it should not."""
'''
LOG = "[log]\nformat = 'json'\n"
Hostile = Callable[..., Install]


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    """Make a program with a plugin whose class has the given body."""

    def make(body: str, table: str = "[plugins.hostile]\n", name: str = "hostile") -> Install:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        points = {name: f"aipm_{name}:Hostile"}
        write_distribution(tmp_path / "site", name, SOURCE + lines, plugins=points)
        return on_path(Install.make(tmp_path / "home", LOG + table), tmp_path / "site")

    return make


def records(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]


def named(server: Server) -> list[str]:
    found = [record for record in records(server) if record.get("plugin") == "hostile"]
    return [record["message"] for record in found]


def works(server: Server) -> None:
    assert Agent(server.mcp).result("help")


LIFE = """
@hookimpl
def aipm_lifespan(self):
    yield Lifespan(name="dark", open=self._open, deadline=1.0, ending=0.5)
@asynccontextmanager
async def _open(self):
"""
FAILS_TO_START = {
    "raises": ("    raise OSError('clouds')\n    yield", "dark failed to start: clouds"),
    "hangs": ("    await asyncio.sleep(99)\n    yield", "dark did not start within 1.0 s"),
    "exits": ("    sys.exit(3)\n    yield", "dark failed to start: SystemExit(3)"),
    "cancels": ("    raise asyncio.CancelledError\n    yield", "dark failed to start"),
}


@pytest.mark.parametrize("how", FAILS_TO_START)
def test_a_lifespan_that_does_not_open_is_named_and_optional_helps(
    hostile: Hostile, how: str
) -> None:
    body, sentence = FAILS_TO_START[how]
    install = hostile(LIFE + body)
    assert f"plugin 'hostile': {sentence}" in install.run("status", check=2).stderr
    (install.root / "aipm.toml").write_text(LOG + "[plugins.hostile]\noptional = true\n")
    with install.up() as server:
        works(server)
    assert any(sentence in message for message in named(server))


SERVING = "yield Lifespan(name='dark', open=self._open, serving=frozenset(ServeMode))"
BROKEN_STARTS = {
    "import": "raise ValueError('no')",
    "import that exits": "sys.exit(3)",
    "async hook": "@hookimpl\nasync def aipm_tools(self):\n    return ()",
    "wrapper": "@hookimpl(wrapper=True)\ndef aipm_tools(self):\n    return (yield)",
    "constructor": "def __init__(self, ctx):\n    raise ValueError('no')",
    "exit": "def __init__(self, ctx):\n    sys.exit(3)",
    "hook": "@hookimpl\ndef aipm_tools(self):\n    raise ValueError('no')",
    "hook that exits": "@hookimpl\ndef aipm_tools(self):\n    sys.exit(3)",
    "garbage": "@hookimpl\ndef aipm_tools(self):\n    yield 1",
    "missing service": "requires = (ServiceKey('moon'),)",
    "migration": "@hookimpl\ndef aipm_migrations(self):\n"
    "    yield Migration(name='0001', sql='creat table x (y);')",
    "foreign table": "@hookimpl\ndef aipm_migrations(self):\n"
    "    yield Migration(name='0001', sql='drop table tasks;')",
    "serving lifespan": LIFE.replace(LIFE.strip().splitlines()[2].strip(), SERVING)
    + "    raise OSError('no')\n    yield",
    "route": "@hookimpl\ndef aipm_routes(self):\n    yield Route(path='/x', build=lambda _: 1 / 0)",
    "taken route": "@hookimpl\ndef aipm_routes(self):\n"
    "    yield Route(path='/healthz', build=lambda _: print)",
    "taken tool": "@hookimpl\ndef aipm_tools(self):\n"
    "    yield tool(self.help, access=Access.ANYONE)\n"
    "async def help(self, call: Call, args: NoArguments) -> Json:\n    '''Mine.'''",
}


@pytest.mark.parametrize("how", BROKEN_STARTS)
def test_optional_covers_every_way_not_to_start(hostile: Hostile, how: str) -> None:
    install = hostile(BROKEN_STARTS[how])
    with pytest.raises(AssertionError, match="hostile"), install.up():
        pass
    (install.root / "aipm.toml").write_text(LOG + "[plugins.hostile]\noptional = true\n")
    with install.up() as server:
        works(server)
    assert [message for message in named(server) if "optional plugin hostile skipped" in message]


HANGING_ENDS = {
    "awaits": "    try:\n        yield\n    finally:\n        await asyncio.sleep(99)",
    "swallows": "    yield\n    while True:\n        try:\n            await asyncio.sleep(99)\n"
    "        except BaseException:\n            pass",
    "thread": "    import threading\n"
    "    threading.Thread(target=time.sleep, args=(30,), name='mine').start()\n    yield",
    "raises": "    yield\n    raise OSError('clouds')",
}


@pytest.mark.parametrize("how", HANGING_ENDS)
def test_a_plugin_that_does_not_end_is_named_and_the_program_ends(
    hostile: Hostile, how: str
) -> None:
    with hostile(LIFE + HANGING_ENDS[how]).up() as server:
        works(server)
    assert server.process.returncode == 0
    said = " ".join(record["message"] for record in records(server))
    if how == "thread":
        assert "thread mine still runs" in said
    else:
        assert "plugin hostile" in said


def test_a_lifespan_that_ends_by_itself_is_told(hostile: Hostile) -> None:
    body = LIFE + (
        "    async with asyncio.TaskGroup() as group:\n"
        "        group.create_task(self._break())\n        yield\n"
        "async def _break(self):\n    raise OSError('clouds')"
    )
    with hostile(body).up() as server:
        works(server)
    assert "plugin hostile: lifespan dark failed" in named(server)


def test_background_work_is_named_with_its_plugin(hostile: Hostile) -> None:
    body = LIFE + (
        "    async with background(job=self._break):\n        yield\n"
        "async def _break(self):\n    raise OSError('clouds')"
    )
    with hostile(body).up() as server:
        works(server)
    assert "plugin hostile: background work job failed; next try in 1 s" in named(server)


TRANSPORT = """
@hookimpl
def aipm_transports(self):
    yield Transport(name="pipe", serve=self._serve)
async def _serve(self, gateway):
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    raise OSError('clouds')", "plugin hostile: transport pipe failed; next try in 1 s"),
        ("    sys.exit(3)", "plugin hostile: transport pipe failed; next try in 1 s"),
        ("    await asyncio.sleep(9999)", None),
        ("    return", None),
    ],
)
def test_a_transport_harms_nobody(hostile: Hostile, body: str, message: str | None) -> None:
    with hostile(TRANSPORT + body).up() as server:
        works(server)
        works(server)
    assert server.process.returncode == 0
    assert named(server)[:1] == ([message] if message else [])


CALLS = """
@hookimpl
def aipm_tools(self):
    for run in (self.own_timeout, self.exits, self.interrupts, self.cancels, self.generates,
                self.waits_and_exits, self.overruns):
        yield tool(run, access=Access.ANYONE, deadline=0.5)
    yield Tool(name="plain", run=lambda call, args: 1 / 0, access=Access.ANYONE, description="x")
async def own_timeout(self, call: Call, args: NoArguments) -> Json:
    '''Raise.'''
    raise TimeoutError('the network')
async def exits(self, call: Call, args: NoArguments) -> Json:
    '''Raise.'''
    sys.exit(3)
async def interrupts(self, call: Call, args: NoArguments) -> Json:
    '''Raise.'''
    raise KeyboardInterrupt
async def cancels(self, call: Call, args: NoArguments) -> Json:
    '''Raise.'''
    await asyncio.sleep(0)
    raise asyncio.CancelledError
async def generates(self, call: Call, args: NoArguments) -> Json:
    '''Raise.'''
    await asyncio.sleep(0)
    raise GeneratorExit
async def waits_and_exits(self, call: Call, args: NoArguments) -> Json:
    '''Raise.'''
    await asyncio.sleep(0.01)
    sys.exit(3)
async def overruns(self, call: Call, args: NoArguments) -> Json:
    '''Hang.'''
    await asyncio.sleep(99)
"""


def test_what_a_tool_raises_is_its_own_and_named(hostile: Hostile) -> None:
    own = ["own_timeout", "exits", "interrupts", "cancels", "generates", "waits_and_exits", "plain"]
    with hostile(CALLS).up() as server:
        agent = Agent(server.mcp)
        for name in (*own, "overruns"):
            error = agent.call(name)["error"]
            assert (error["code"], "inc_" in error["message"]) == ("internal_error", True)
    told = [record for record in records(server) if record.get("plugin") == "hostile"]
    for name, record in zip(own, told, strict=False):
        assert record["message"].startswith(f"plugin hostile: {name} failed [inc_")
        assert "aipm_hostile.py" in json.dumps(record)
    assert told[-1]["message"].startswith("plugin hostile: overruns did not finish within 0.5 s")


ROUTES = """
@hookimpl
def aipm_routes(self):
    for name in ("raises", "hangs", "exits", "cancels", "times_out"):
        yield Route(path=f"/{name}", build=lambda _, name=name: getattr(self, name), deadline=0.5)
async def raises(self, scope, receive, send):
    raise OSError('clouds')
async def hangs(self, scope, receive, send):
    await asyncio.sleep(99)
async def exits(self, scope, receive, send):
    sys.exit(3)
async def cancels(self, scope, receive, send):
    raise asyncio.CancelledError
async def times_out(self, scope, receive, send):
    raise TimeoutError('the network')
"""


def test_a_route_has_a_deadline_and_an_incident(hostile: Hostile) -> None:
    with hostile(ROUTES).up() as server:
        for name in ("raises", "hangs", "exits", "cancels", "times_out"):
            answer = httpx.get(f"{server.url}/{name}")
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (500, "internal_error")
            assert "clouds" not in answer.text
            (told,) = error["message"].split("under ")[1:]
            works(server)
    said = named(server)
    assert len(said) == 5
    assert told in said[-1]
    assert said[1].startswith("plugin hostile: route /hangs did not begin to answer within 0.5 s")


class Slow(Plugin):
    """Its plain code does not return."""

    where = "hook"

    def __init__(self, ctx: PluginContext[Any]) -> None:
        super().__init__(ctx)
        if self.where == "constructor":
            time.sleep(30)

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        if self.where == "hook":
            while True:
                pass
        yield from ()


@pytest.mark.parametrize(("where", "what"), [("hook", "aipm_tools"), ("constructor", "its con")])
def test_a_hook_that_hangs_at_the_start_is_named(
    where: str, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Slow, "where", where)
    monkeypatch.setattr(time_limit, "SECONDS", 0.2)
    with pytest.raises(PluginError, match=f"^plugin 'slow': {what}.* did not return within 0.2 s$"):
        assemble(Settings(data_dir=tmp_path), {"slow": Slow})
    optional = Settings(data_dir=tmp_path, plugins={"slow": PluginSettings(optional=True)})
    assert assemble(optional, {"slow": Slow}).plugins() == {}


class Sharing(Plugin):
    """Gives the same object to everybody."""

    shared: ClassVar[Json] = {"list": [1]}

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.share, access=Access.ANYONE)

    async def share(self, call: Call, args: NoArguments) -> Json:
        """Share."""
        return self.shared

    @hookimpl
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        yield ResponseMiddleware(
            name="spoil", apply=self._spoil, phase=Phase.ENRICH, on_error="skip"
        )

    async def _spoil(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        reply.result["list"].append("spoilt")
        return reply


async def test_nobody_changes_what_others_are_given() -> None:
    async with running(Sharing) as aipm:
        first = await aipm.call("share")
        assert first.result == {"list": [1, "spoilt"]}
        assert (await aipm.call("share")).result == first.result
        assert Sharing.shared == {"list": [1]}
        schema: Any = aipm.runtime.schema("share")
        schema["properties"]["evil"] = {}
        assert "evil" not in aipm.runtime.schema("share")["properties"]
