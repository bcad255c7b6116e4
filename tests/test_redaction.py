"""A plugin's redactor covers replies, events, views and the log, whoever wrote the text."""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import httpx
import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import running
from aipm_operations.api import Redactor

from aipm_core import (
    Access,
    AnyTool,
    Call,
    Event,
    EventSink,
    Json,
    NoArguments,
    Plugin,
    hookimpl,
    tool,
)
from tests.distributions import on_path, write_distribution
from tests.shop import Person

SOURCE = '''
import logging, re
from aipm_operations.api import Redactor
KEY = re.compile("AKIA[A-Z0-9]{16}")
class Cleaner(Plugin):
    """Hides keys."""
    aipm_api = 1
    @hookimpl(optionalhook=True)
    def aipm_redactors(self):
        yield Redactor(name="keys", hide=lambda text: KEY.sub("[key]", text))
    @hookimpl
    def aipm_tools(self):
        yield tool(self.logs, access=Access.PERSON, audience="ui")
    async def logs(self, call: Call, args: NoArguments) -> Json:
        """Log."""
        logging.getLogger(__name__).error("it is %s", "AKIA" + "B" * 16)
'''
KEY = "AKIA" + "A" * 16


def test_it_covers_replies_events_views_and_the_log(tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    write_distribution(site, "cleaner", SOURCE, plugins={"cleaner": "aipm_cleaner:Cleaner"})
    settings = "[log]\nformat = 'json'\n"
    install = on_path(Install.make(home, settings + "[plugins.cleaner]\n"), site)
    install.run("project", "add", "shop", "--dir", "work")
    install.run("agent", "add", "mia", "--project", "shop", "--type", "human")
    token = install.json("token", "create", "--agent", "mia")["token"]
    with install.up() as server:
        mia = Person(server.url, token)
        made = mia.call("create_task", project_id="shop", title=f"Use {KEY}")
        assert made["task"]["title"] == "Use [key]"
        mia.call("logs")
        seen = mia.get("/api/projects/shop/state")
        assert "Use [key]" in json.dumps(seen)
        assert KEY not in json.dumps(seen)
        mia.call("create_task", project_id="shop", title=f"Again {KEY}")
        assert "Again [key]" in streamed(server.url, token, seen["cursor"])
    assert "it is [key]" in server.log
    assert "AKIA" not in server.log
    (home / "aipm.toml").write_text(settings)
    with install.up() as server:  # what is stored is as it was
        assert KEY in json.dumps(Person(server.url, token).get("/api/projects/shop/state"))


def streamed(url: str, token: str, cursor: str) -> str:
    headers = {"authorization": f"Bearer {token}"}
    address = f"{url}/api/projects/shop/stream?after={cursor}"
    with httpx.stream("GET", address, headers=headers, timeout=30) as lines:
        return next(line for line in lines.iter_lines() if "Again " in line or "resync" in line)


class Broken(Plugin):
    """Its redactor fails."""

    @hookimpl
    def aipm_redactors(self) -> Iterable[Redactor]:
        yield Redactor(name="bad", hide=lambda text: str(1 / len(text[:0])))

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.say, access=Access.ANYONE)

    async def say(self, call: Call, args: NoArguments) -> Json:
        """Say."""
        return {"n": 1, "text": ["secret"]}


class Hiding(Plugin):
    """Hides one word, and hears events."""

    heard: ClassVar[list[Any]] = []

    @hookimpl
    def aipm_redactors(self) -> Iterable[Redactor]:
        yield Redactor(name="word", hide=lambda text: text.replace("secret", "[word]"))

    @hookimpl
    def aipm_event_sinks(self) -> Iterable[EventSink]:
        yield EventSink(name="ear", send=self._hear)

    async def _hear(self, event: Event) -> None:
        self.heard.append(event.payload)


async def test_events_are_hidden_from_followers_and_sinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hiding, "heard", [])
    async with running(Hiding) as aipm:
        events = aipm.runtime.events
        while not await aipm.runtime.store.all("select * from sink_places"):
            await anyio.lowlevel.checkpoint()
        await events.publish(Event(type="t", payload={"a": ["secret"]}, system=True))
        async for event in events.news(after=0):
            assert event.payload == {"a": ["[word]"]}
            break
        with anyio.fail_after(20):
            while not Hiding.heard:
                await anyio.lowlevel.checkpoint()
    assert Hiding.heard == [{"a": ["[word]"]}]


async def test_where_a_redactor_fails_nothing_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Broken) as aipm:
        reply = await aipm.call("say", None)
    hidden = "[hidden: bad of the plugin broken failed]"
    assert reply.result == {hidden: [hidden]}
    named = [r for r in caplog.records if getattr(r, "plugin", "") == "broken"]
    assert [r.levelno for r in named] == [logging.ERROR]
