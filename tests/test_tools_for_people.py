"""What people call is asked for where a person can call anything."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from aipm_cli.discovery import InstalledPlugins
from aipm_cli.program import assemble
from aipm_cli.settings import Settings
from aipm_store.api import engine_for

from aipm_core import Access, AnyTool, Call, Json, NoArguments, Plugin, PluginError, hookimpl, tool
from aipm_core.host import Runtime


class Bells(Plugin):
    """Rings for agents and for people."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.ring, access=Access.ANYONE)

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        yield tool(self.ring, access=Access.PERSON, audience="ui")

    async def ring(self, call: Call, args: NoArguments) -> Json:
        """Ring."""


class Confused(Plugin):
    """Offers people what is for agents."""

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        yield tool(self.ring, access=Access.ANYONE)

    async def ring(self, call: Call, args: NoArguments) -> Json:
        """Ring."""


SETTINGS = Settings(data_dir=Path("unused"))


@pytest.mark.parametrize("people", [True, False])
def test_people_have_tools_where_there_are_people(people: bool) -> None:
    installation = InstalledPlugins(people=people)
    runtime = Runtime(SETTINGS, engine_for(SETTINGS), {"bells": Bells}, installation)
    assert [found.name for found in runtime.catalog()] == ["ring"]
    assert [found.name for found in runtime.catalog("ui")] == (["ring"] if people else [])


def test_a_tool_for_agents_is_refused_among_those_for_people() -> None:
    with pytest.raises(PluginError, match="aipm_people_tools gave agents 'ring'"):
        assemble(SETTINGS, {"confused": Confused})
