"""Kinds of events that plugins add: in the schema, typed, and nobody's twice."""

from collections.abc import Iterable
from typing import Any, ClassVar

import httpx
import pytest
from aipm_devkit.testing import running
from aipm_sessions.plugin import Sessions
from aipm_ui_gateway.api import EventPayload, EventType, Notification
from aipm_ui_gateway.plugin import UiGateway

from aipm_core import Plugin, PluginError, hookimpl


class Tide(EventPayload):
    """How high the water stands."""

    height: float


TIDE = EventType("onTide", Tide)
FLOOD = EventType("onFlood", Tide, scope="system")


class Harbour(Plugin):
    """Tells of the water."""

    kinds: ClassVar[tuple[EventType, ...]] = (TIDE,)

    @hookimpl
    def aipm_event_types(self) -> Iterable[EventType]:
        return self.kinds


async def test_the_schema_tells_of_them() -> None:
    async with (
        running(Sessions, UiGateway, Harbour) as aipm,
        aipm.serving() as url,
        httpx.AsyncClient() as client,
    ):
        schema = (await client.get(f"{url}/schema/events.json")).json()
    told = schema["events"]["onTide"]["properties"]
    assert (told["type"], told["scope"]) == ({"const": "onTide"}, {"const": "session"})
    assert {"height", "sessionId"} <= set(schema["$defs"]["Tide"]["properties"])
    assert "onNewMessage" in schema["events"]


def test_an_event_reaches_whom_its_kind_says() -> None:
    made = TIDE.event(Tide(height=2.5), "uis_1")
    assert (made.type, made.payload, made.session_id) == ("onTide", {"height": 2.5}, "uis_1")
    assert FLOOD.event(Tide(height=9)).system
    with pytest.raises(ValueError, match="onTide is for a session"):
        TIDE.event(Tide(height=1))
    with pytest.raises(ValueError, match="onFlood is for all"):
        FLOOD.event(Tide(height=1), "uis_1")
    with pytest.raises(TypeError, match="onTide carries Tide"):
        TIDE.event(Notification.model_construct(), "uis_1")


@pytest.mark.parametrize(
    ("kinds", "problem"),
    [
        ((EventType("onNewMessage", Tide),), "'onNewMessage' is given twice"),
        ((TIDE, FLOOD), "'onFlood' is given twice"),
        ((EventType("on tide", Tide),), "use letters and digits"),
    ],
)
async def test_a_taken_or_odd_name_is_refused(
    kinds: Any, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Harbour, "kinds", kinds)
    with pytest.raises(PluginError, match=f"^plugin 'harbour': .*{problem}"):
        async with running(Sessions, UiGateway, Harbour):
            pass
