import pytest
from aipm_clock import Clock

from aipm_core import ConfigError
from aipm_core.testing import running

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


async def test_a_zone_that_does_not_exist_stops_the_start() -> None:
    with pytest.raises(ConfigError, match=r"\[plugins.clock\]: zone: .*'Mars/Olympus'"):
        async with running(Clock, settings={"clock": {"zone": "Mars/Olympus"}}):
            pass
