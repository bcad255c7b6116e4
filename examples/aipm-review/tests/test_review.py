from collections.abc import Callable
from typing import Any

import pytest
from aipm_review import Review

from aipm_core import ConfigError, Event

KEY = "AKIA" + "Z" * 16


async def test_a_key_is_hidden_in_replies_and_events(aipm_runtime: Callable[..., Any]) -> None:
    async with aipm_runtime(Review) as aipm:
        assert KEY not in (await aipm.call(KEY)).error.message
        await aipm.runtime.events.publish(Event(type="t", payload={KEY: [KEY]}, system=True))
        async for event in aipm.runtime.events.news(after=0):
            assert event.payload == {"[hidden]": ["[hidden]"]}
            break


async def test_a_pattern_that_is_none_stops_the_start(aipm_runtime: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="is no regular expression"):
        async with aipm_runtime(Review, review={"patterns": ["("]}):
            pass


def test_people_and_the_page_see_nothing_of_it(aipm_team: Callable[..., Any]) -> None:
    team = aipm_team(people=("anna",), toml="[plugins.review]\n")
    made = team.person("anna").call("create_task", project_id="p", title=f"Use {KEY}")
    assert made["task"]["title"] == "Use [hidden]"
