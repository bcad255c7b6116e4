from pathlib import Path

import pytest
from aipm_clock import Clock
from aipm_devkit.testing import running
from aipm_sessions.plugin import Sessions
from aipm_sessions.testing import Team
from aipm_views.api import VIEWS
from aipm_views.plugin import Views
from aipm_views.testing import Follower, check_fold_law
from aipm_web_ui.api import PageHooks
from aipm_web_ui.plugin import WebUi

from aipm_core import ConfigError

NEW_YEAR = 1_767_225_600.0  # 2026-01-01T00:00:00Z


async def test_now_follows_the_configured_zone() -> None:
    async with running(Clock, clock=lambda: NEW_YEAR, settings={"clock": {"zone": "UTC"}}) as aipm:
        reply = await aipm.call("now")
    assert reply.result == {"now": "2026-01-01T00:00:00+00:00"}


async def test_the_zone_is_tokyo_unless_told_otherwise() -> None:
    async with running(Clock, clock=lambda: NEW_YEAR) as aipm:
        reply = await aipm.call("now")
    assert reply.result == {"now": "2026-01-01T09:00:00+09:00"}


async def test_a_caller_without_a_session_learns_nothing() -> None:
    async with running(Clock) as aipm:
        reply = await aipm.call("now", None)
    assert reply.error is not None
    assert reply.error.code == "authentication_required"


async def test_people_see_the_zone_in_a_panel(tmp_path: Path) -> None:
    settings = {"clock": {"zone": "Europe/Berlin"}}
    async with running(Sessions, Views, WebUi, Clock, settings=settings) as aipm:
        team = Team(aipm, tmp_path)
        await team.add_project("p")
        await team.add("alice", kind="human")
        await check_fold_law(aipm, [Follower("alice")])
        state = await aipm.runtime.services.use(VIEWS).snapshot("p", "alice")
        (panel,) = [owned.record for owned in aipm.runtime.given(PageHooks.aipm_panels)]
    assert [state.views[panel.view]["zone"][one.field] for one in panel.columns] == [
        "Europe/Berlin"
    ]


async def test_a_zone_that_does_not_exist_stops_the_start() -> None:
    with pytest.raises(ConfigError, match=r"\[plugins.clock\]: zone: .*'Mars/Olympus'"):
        async with running(Clock, settings={"clock": {"zone": "Mars/Olympus"}}):
            pass
