"""Tells agents the time."""

from collections.abc import Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from aipm_core import Access, AnyTool, Call, Json, NoArguments, Plugin, PluginConfig, hookimpl, tool


class ClockConfig(PluginConfig):
    """Settings of ``[plugins.clock]``."""

    zone: ZoneInfo = ZoneInfo("Asia/Tokyo")


class Clock(Plugin[ClockConfig]):
    """Offers one tool, ``now``."""

    config_model = ClockConfig
    offers = ("now",)

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the time of day."""
        yield tool(self.now, access=Access.SESSION, read_only=True)

    async def now(self, call: Call, args: NoArguments) -> Json:
        """Return the current time of the team's time zone."""
        moment = datetime.fromtimestamp(self.ctx.clock(), self.ctx.config.zone)
        return {"now": moment.isoformat(timespec="seconds")}
