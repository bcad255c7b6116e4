"""A plugin that does not fit stops the start with one sentence that names it, and why."""

import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_cli import discovery
from aipm_cli.discovery import Choice, Found
from aipm_cli.program import assemble
from aipm_cli.settings import PluginSettings, Settings
from aipm_devkit.testing import running
from aipm_http_server.api import HttpHooks, Route
from aipm_http_server.plugin import HttpServer
from aipm_http_server.routing import App

from aipm_core import (
    Access,
    Authorizer,
    Call,
    Json,
    Lifespan,
    NoArguments,
    Plugin,
    ServiceKey,
    Tool,
    hookimpl,
)
from aipm_core.errors import ConfigError, PluginError
from aipm_core.plugin import PluginClass, PluginContext
from aipm_core.runtime import Runtime

KEY = ServiceKey[object]("test.key")


async def run(call: Call, args: NoArguments) -> Json:
    return {}


def a_tool(name: str = "t", description: str = "does it") -> Tool[Any]:
    return Tool(name=name, description=description, run=run, access=Access.SESSION)


class Good(Plugin):
    @hookimpl
    def aipm_tools(self) -> list[Tool[Any]]:
        return [a_tool("fine")]


class RaisesInHook(Plugin):
    @hookimpl
    def aipm_tools(self) -> Iterator[Tool[Any]]:
        yield a_tool()
        raise RuntimeError("the moon is wrong")


class RaisesInConstructor(Plugin):
    def __init__(self, ctx: PluginContext[Any]) -> None:
        raise RuntimeError("no moon at all")


class ProvidesTwice(Plugin):
    def __init__(self, ctx: PluginContext[Any]) -> None:
        for _ in range(2):
            ctx.services.provide(KEY, object())


class GivesGarbage(Plugin):
    @hookimpl
    def aipm_authorizers(self) -> list[Any]:
        return ["let them in"]


class GivesNoList(Plugin):
    @hookimpl
    def aipm_authorizers(self) -> Any:
        return 5


class TakenTool(Plugin):
    @hookimpl
    def aipm_tools(self) -> list[Tool[Any]]:
        return [a_tool("fine")]


class OddToolName(Plugin):
    @hookimpl
    def aipm_tools(self) -> list[Tool[Any]]:
        return [a_tool("no spaces")]


class SilentTool(Plugin):
    @hookimpl
    def aipm_tools(self) -> list[Tool[Any]]:
        return [a_tool("silent", description="")]


class UnknownHook(Plugin):
    @hookimpl
    def aipm_authorizer(self) -> list[Authorizer]:
        return []


class Wrapper(Plugin):
    @hookimpl(wrapper=True)
    def aipm_authorizers(self) -> Any:
        yield
        return []


class OldWrapper(Plugin):
    @hookimpl(hookwrapper=True)
    def aipm_authorizers(self) -> Any:
        yield


class AsyncHook(Plugin):
    @hookimpl
    async def aipm_tools(self) -> list[Tool[Any]]:
        return []


class Unmarked(Plugin):
    def aipm_tools(self) -> list[Tool[Any]]:
        return []


class Greedy(Plugin):
    @hookimpl
    def aipm_tools(self, manager: object) -> list[Tool[Any]]:
        return []


class Needy(Plugin):
    requires = (KEY,)


class Provider(Plugin):
    provides = (KEY,)


class RoundOne(Plugin):
    provides = (KEY,)
    requires = (ServiceKey[object]("test.other"),)


class RoundTwo(Plugin):
    provides = (ServiceKey[object]("test.other"),)
    requires = (KEY,)


def started(classes: dict[str, PluginClass], **tables: dict[str, Any]) -> Runtime:
    plugins = {name: PluginSettings.model_validate(table) for name, table in tables.items()}
    return assemble(Settings(data_dir=Path("unused"), plugins=plugins), classes)


@pytest.mark.parametrize(
    ("plugin", "sentence"),
    [
        (RaisesInHook, "aipm_tools failed: the moon is wrong"),
        (RaisesInConstructor, "cannot be built: no moon at all"),
        (ProvidesTwice, "cannot be built: service 'test.key' is provided twice"),
        (GivesGarbage, "aipm_authorizers gave 'let them in', not a Authorizer"),
        (GivesNoList, "aipm_authorizers failed: 'int' object is not iterable"),
        (TakenTool, "tool 'fine' is already offered by 'good'"),
        (OddToolName, "tool name 'no spaces' is not 1-64 of A-Z a-z 0-9 _ -"),
        (SilentTool, "tool 'silent' has no description"),
        (UnknownHook, "aipm_authorizer is no hook of aipm; did you mean 'aipm_authorizers'?"),
        (Wrapper, "aipm_authorizers may not be a wrapper: it could drop what other plugins give"),
        (
            OldWrapper,
            "aipm_authorizers may not be a wrapper: it could drop what other plugins give",
        ),
        (AsyncHook, "aipm_tools must be a plain method; async functions go into the records"),
        (Unmarked, "aipm_tools lacks @hookimpl and would never be asked"),
        (Greedy, "aipm_tools must be a method without arguments"),
        (
            Needy,
            "requires test.key, which no enabled plugin provides; "
            "switch the provider on or this plugin off",
        ),
    ],
)
def test_a_plugin_that_does_not_fit_is_named(plugin: PluginClass, sentence: str) -> None:
    with pytest.raises(PluginError) as refused:
        started({"good": Good, "x": plugin})
    assert str(refused.value) == f"plugin 'x': {sentence}"


def test_two_providers_of_one_service_are_both_named() -> None:
    with pytest.raises(PluginError) as refused:
        started({"a": Provider, "b": Provider})
    assert str(refused.value) == "plugin 'b': provides test.key, which a already provides"


def test_requirements_that_go_round_are_shown() -> None:
    with pytest.raises(PluginError, match=r"^plugin '\w': requirements go round: \w -> \w -> \w$"):
        started({"a": RoundOne, "b": RoundTwo})


def test_an_optional_plugin_that_cannot_be_built_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        runtime = started({"good": Good, "x": RaisesInHook}, x={"optional": True})
    assert [tool.name for tool in runtime.catalog()] == ["fine"]
    assert "optional plugin x skipped: aipm_tools failed: the moon is wrong" in caplog.messages


def test_what_needs_a_plugin_that_was_left_out_does_not_start() -> None:
    class BrokenProvider(RaisesInConstructor):
        provides = (KEY,)

    classes: dict[str, PluginClass] = {"x": BrokenProvider, "y": Needy}
    with pytest.raises(PluginError, match=r"^plugin 'y': requires test.key"):
        started(classes, x={"optional": True})


def test_a_hook_of_a_later_aipm_may_be_marked_as_such() -> None:
    class FromTheFuture(Plugin):
        @hookimpl(optionalhook=True)
        def aipm_dreams(self) -> list[object]:
            return [object()]

    started({"x": FromTheFuture})


def found(value: str) -> Choice:
    point = EntryPoint("x", value, discovery.GROUP)
    return Choice(Found("x", "aipm-x", point, "1"), enabled=True, reason="test")


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("gone_away:X", "cannot be imported: No module named 'gone_away'"),
        ("string:Gone", "cannot be imported: module 'string' has no attribute 'Gone'"),
        ("string:Template", "string:Template is not a Plugin class"),
        ("string:digits", "string:digits is not a Plugin class"),
        ("aipm_that_exits:X", "cannot be imported: 3"),
    ],
)
def test_what_cannot_be_imported_is_named_or_left_out(
    value: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "aipm_that_exits.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError) as refused:
        discovery.load([found(value)], Settings())
    assert str(refused.value) == f"plugin 'x': {sentence}"
    optional = Settings(plugins={"x": PluginSettings(optional=True)})
    assert discovery.load([found(value)], optional) == {}
    assert caplog.messages == [f"optional plugin x skipped: {sentence}"]


def test_what_a_plugin_says_about_its_settings_is_passed_on() -> None:
    class Picky(Plugin):
        def __init__(self, ctx: PluginContext[Any]) -> None:
            raise ConfigError("[plugins.x] moon = 'full': there is none tonight")

    with pytest.raises(ConfigError, match=r"^\[plugins.x\] moon = 'full': there is none tonight$"):
        started({"x": Picky})


def test_a_broken_catalogue_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "aipm_mumbling"
    (package / "locale").mkdir(parents=True)
    (package / "locale/ja.toml").write_text("[tools\n", encoding="utf-8")
    (package / "__init__.py").write_text(
        "from aipm_core import Plugin\nclass Mumbling(Plugin): pass\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    classes = discovery.load([found("aipm_mumbling:Mumbling")], Settings())
    with pytest.raises(PluginError, match=r"^plugin 'x': locale catalogue ja.toml: Expected"):
        started(classes)


class NeverReady(Plugin):
    """Its lifespan fails as the test says."""

    how = "raise"

    @hookimpl
    def aipm_lifespan(self) -> list[Lifespan]:
        return [Lifespan(name="moonrise", open=self._open, deadline=0.05)]

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        if self.how == "hang":
            await anyio.sleep_forever()
        raise OSError("clouds")
        yield


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("raise", "moonrise failed to start: clouds"),
        ("hang", "moonrise did not start within 0.05 s"),
    ],
)
async def test_a_plugin_that_does_not_come_up_is_named(
    how: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NeverReady, "how", how)
    with pytest.raises(PluginError) as refused:
        async with running(NeverReady):
            pass
    assert str(refused.value) == f"plugin 'never_ready': {sentence}"


def routes(path: str, *methods: str) -> PluginClass:
    class Routed(Plugin):
        @hookimpl
        def aipm_routes(self) -> list[Route]:
            return [Route(path=path, build=lambda _: nobody, methods=methods)]

    async def nobody(scope: Any, receive: Any, send: Any) -> None: ...

    return Routed


@pytest.mark.parametrize("path", ["/moon", "/moon/{phase}"])
def test_a_route_is_given_once(path: str) -> None:
    given = {"a": routes(path, "GET", "POST"), "b": routes(path, "PUT", "POST")}
    runtime = started({**given, "http_server": HttpServer})
    with pytest.raises(PluginError, match=f"plugin 'b': route POST {re.escape(path)} is already"):
        App(runtime, runtime.store, runtime.given(HttpHooks.aipm_routes))
