"""Plugins that own hooks, and plugins that add to them."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aipm_cli.program import assemble
from aipm_cli.settings import Settings
from aipm_devkit.testing import running

from aipm_core import (
    Access,
    AnyTool,
    Call,
    Json,
    Lifespan,
    NoArguments,
    Plugin,
    hookimpl,
    hookspec,
    tool,
)
from aipm_core.errors import PluginError
from aipm_core.loading.hook_owners import known_hooks


@dataclass(frozen=True, kw_only=True)
class Greeting:
    text: str


class GreetingHooks:
    @hookspec
    def aipm_greetings(self) -> Iterable[Greeting]:
        """What to say."""
        return ()


class Greeter(Plugin):
    """Says what others gave."""

    hooks = GreetingHooks

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.greet, access=Access.ANYONE)

    async def greet(self, call: Call, args: NoArguments) -> Json:
        """Greet."""
        given = self.ctx.given(GreetingHooks.aipm_greetings)
        return {"said": [[owned.plugin, owned.record.text] for owned in given]}


class Early(Plugin):
    """Comes before its owner in the alphabet."""

    @hookimpl
    def aipm_greetings(self) -> Iterable[Greeting]:
        yield Greeting(text="good morning")
        yield Greeting(text="hello")


class Zealous(Plugin):
    """Comes after its owner."""

    @hookimpl
    def aipm_greetings(self) -> Iterable[Greeting]:
        return [Greeting(text="hi")]


def assembled(**plugins: type[Plugin]) -> None:
    assemble(Settings(data_dir=Path("unused")), plugins)


async def test_the_owner_gets_what_others_give_whoever_was_built_first() -> None:
    async with running(Zealous, Greeter, Early) as aipm:
        reply = await aipm.call("greet")
    assert reply.result == {
        "said": [["early", "good morning"], ["early", "hello"], ["zealous", "hi"]]
    }


async def test_nobody_gives_anything() -> None:
    async with running(Greeter) as aipm:
        reply = await aipm.call("greet")
    assert reply.result == {"said": []}


async def test_a_plugin_starts_without_the_owner_of_a_hook_it_implements() -> None:
    async with running(Early) as aipm:
        assert aipm.runtime.catalog() == ()


@dataclass(frozen=True, kw_only=True)
class Song:
    name: str


class SongHooks:
    @hookspec
    def aipm_songs(self) -> Iterable[Song]:
        """What to sing."""
        return ()


class Singer(Plugin):
    """Knows every song by its name."""

    hooks = SongHooks

    @hookimpl
    def aipm_songs(self) -> Iterable[Song]:
        yield Song(name="ode")

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        yield Lifespan(name="singer", open=self._life)

    @asynccontextmanager
    async def _life(self) -> AsyncGenerator[None]:
        self.ctx.check_names(SongHooks.aipm_songs)
        yield


def giver(name: str, *songs: str) -> type[Plugin]:
    class Giver(Plugin):
        @hookimpl
        def aipm_songs(self) -> Iterable[Song]:
            return [Song(name=song) for song in songs]

    Giver.__name__ = name
    return Giver


@pytest.mark.parametrize(
    ("plugins", "at_fault", "song"),
    [
        ([giver("Alto", "ode")], "alto", "ode"),
        ([giver("Tenor", "ode")], "tenor", "ode"),
        ([giver("Alto", "air"), giver("Tenor", "air")], "tenor", "air"),
        ([giver("Alto", "air", "air")], "alto", "air"),
    ],
    ids=["before its owner", "after its owner", "two others", "one alone"],
)
async def test_a_name_given_twice_is_the_fault_of_who_is_not_the_owner(
    plugins: list[type[Plugin]], at_fault: str, song: str
) -> None:
    with pytest.raises(PluginError, match=f"aipm_songs: '{song}' is given twice") as caught:
        async with running(Singer, *plugins):
            pass
    assert caught.value.plugin == at_fault


async def test_names_that_differ_are_taken() -> None:
    async with running(Singer, giver("Alto", "air"), giver("Tenor", "aria")) as aipm:
        assert aipm.runtime.catalog() == ()


class Watchful(Plugin):
    """Implements a hook whose name is like another one that is there; its owner is off."""

    @hookimpl
    def aipm_conversation_sources(self) -> Iterable[Greeting]:
        return ()


class SimilarHooks:
    @hookspec
    def aipm_conversation_resources(self) -> Iterable[Greeting]:
        """A name that is nearly that of another hook."""
        return ()


class Similar(Plugin):
    hooks = SimilarHooks


async def test_a_hook_of_a_plugin_that_is_off_is_not_taken_for_a_misspelt_one() -> None:
    async with running(Similar, Watchful) as aipm:
        assert aipm.runtime.catalog() == ()


def test_what_is_given_cannot_be_asked_for_in_a_constructor() -> None:
    class Hasty(Greeter):
        def __init__(self, ctx: object) -> None:
            super().__init__(ctx)  # type: ignore[arg-type]
            self.ctx.given(GreetingHooks.aipm_greetings)

    with pytest.raises(PluginError, match="wait until all plugins are built"):
        assembled(hasty=Hasty)


def test_a_record_of_another_kind_is_refused_and_its_giver_named() -> None:
    class Confused(Plugin):
        @hookimpl
        def aipm_greetings(self) -> list[object]:
            return ["hello"]

    with pytest.raises(PluginError, match="'confused': aipm_greetings gave 'hello', not a Greet"):
        assembled(greeter=Greeter, confused=Confused)


def test_a_hook_that_raises_is_the_givers_fault() -> None:
    class Broken(Plugin):
        @hookimpl
        def aipm_greetings(self) -> list[Greeting]:
            raise ValueError("lost my voice")

    with pytest.raises(PluginError, match="'broken': aipm_greetings failed: lost my voice"):
        assembled(greeter=Greeter, broken=Broken)


class Strict(Greeter):
    """Takes a greeting once."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        seen: set[str] = set()
        for owned in self.ctx.given(GreetingHooks.aipm_greetings):
            if owned.record.text in seen:
                raise PluginError(owned.plugin, f"{owned.record.text!r} is said twice")
            seen.add(owned.record.text)
        return super().aipm_tools()


class Repeating(Plugin):
    @hookimpl
    def aipm_greetings(self) -> Iterable[Greeting]:
        return [Greeting(text="hi")] * 2


def test_an_owner_that_refuses_a_record_blames_its_giver() -> None:
    with pytest.raises(PluginError, match="plugin 'repeating': 'hi' is said twice"):
        assembled(strict=Strict, repeating=Repeating)


async def test_an_optional_plugin_whose_record_is_refused_is_left_out() -> None:
    async with running(Strict, Repeating, Early, repeating={"optional": True}) as aipm:
        reply = await aipm.call("greet")
    assert reply.result == {"said": [["early", "good morning"], ["early", "hello"]]}


def test_a_misspelt_hook_of_a_plugin_is_found() -> None:
    class Typo(Plugin):
        @hookimpl
        def aipm_greeting(self) -> list[Greeting]:
            return []

    with pytest.raises(PluginError, match="did you mean 'aipm_greetings'"):
        assembled(greeter=Greeter, typo=Typo)


def test_a_hook_that_takes_arguments_is_refused_though_its_owner_is_away() -> None:
    class Demanding(Plugin):
        @hookimpl(optionalhook=True)
        def aipm_greetings(self, more: int) -> list[Greeting]:
            return []

    with pytest.raises(PluginError, match="must be a method without arguments"):
        assembled(demanding=Demanding)


def test_a_hook_has_one_owner() -> None:
    class Rival(Plugin):
        hooks = GreetingHooks

    with pytest.raises(PluginError, match="'rival': aipm_greetings is already a hook of greeter"):
        assembled(greeter=Greeter, rival=Rival)


def test_a_hook_of_the_core_cannot_be_taken() -> None:
    class Specs:
        @hookspec
        def aipm_tools(self) -> Iterable[Greeting]:
            """Not yours."""
            return ()

    class Thief(Plugin):
        hooks = Specs

    with pytest.raises(PluginError, match="aipm_tools is already a hook of aipm_core"):
        assembled(thief=Thief)


class Unnamed:
    @hookspec
    def greetings(self) -> Iterable[Greeting]:
        """No prefix."""
        return ()


class Unmarked:
    def aipm_greetings(self) -> Iterable[Greeting]:
        """No mark."""
        return ()


class Untyped:
    @hookspec
    def aipm_greetings(self):  # type: ignore[no-untyped-def]  # noqa: ANN201
        """No word about what it gives."""
        return ()


class Parametric:
    @hookspec
    def aipm_greetings(self, loud: bool) -> Iterable[Greeting]:
        """Asked with an argument, which nobody would give."""
        return ()


@pytest.mark.parametrize(
    ("specs", "problem"),
    [
        (Unnamed, "Unnamed.greetings is no @hookspec named aipm_…"),
        (Unmarked, "Unmarked.aipm_greetings is no @hookspec named aipm_…"),
        (Untyped, "a hook must say which records it gives"),
        (Parametric, "must be a method without arguments"),
    ],
)
def test_a_hook_that_cannot_be_asked_is_its_owners_fault(specs: type, problem: str) -> None:
    owner = type("Owner", (Plugin,), {"hooks": specs})
    with pytest.raises(PluginError, match=problem) as caught:
        known_hooks({"owner": owner})
    assert caught.value.plugin == "owner"
