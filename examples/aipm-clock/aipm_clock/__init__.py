"""Tells agents the time, and people in which zone that is."""

from datetime import datetime
from zoneinfo import ZoneInfo

from aipm_views.api import View
from aipm_web_ui.api import Column, Panel

from aipm_core import Access, AnyTool, Call, Json, NoArguments, Plugin, PluginConfig, hookimpl, tool


class ClockConfig(PluginConfig):
    """Settings of ``[plugins.clock]``."""

    zone: ZoneInfo = ZoneInfo("Asia/Tokyo")


class Clock(Plugin[ClockConfig]):
    """Tells agents the time, and shows people the zone in a panel of the page."""

    config_model = ClockConfig

    @hookimpl
    def aipm_tools(self) -> list[AnyTool]:
        return [tool(self.now, access=Access.SESSION, read_only=True)]

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> list[View]:
        return [View.fixed("clock", {"zone": {"zone": str(self.ctx.config.zone)}})]

    @hookimpl(optionalhook=True)
    def aipm_panels(self) -> list[Panel]:
        title, columns = {"ja": "時間帯", "en": "Time zone"}, (Column(field="zone"),)
        return [Panel(name="zone", title=title, kind="stat", view="clock", columns=columns)]

    async def now(self, call: Call, args: NoArguments) -> Json:
        """Return the current time of the team's time zone."""
        moment = datetime.fromtimestamp(self.ctx.clock(), self.ctx.config.zone)
        return {"now": moment.isoformat(timespec="seconds")}
