"""aipm: the installed program with all plugins, agents with passkeys, a real project directory."""

import compileall
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from aipm_devkit.program import AIPM, Install

from benchmarks.sides.side import ROOT, TEXT, Side, Work
from benchmarks.wire.messages import Channel, Message, content, tool

AGENTS = ("ann", "bob")
SETTINGS = "[server]\nmax_connections = 5000\n"


class Aipm(Side):
    """Everything is on; whoever calls has authenticated."""

    name = "aipm"

    def prepare(self) -> str:
        for part in ("aipm_core", "plugins"):  # as pip compiles what it installs
            compileall.compile_dir(ROOT / part, quiet=1)
        return version("aipm-runtime")

    def furnish(self, place: Path) -> None:
        install = Install.make(place, SETTINGS)
        install.run("project", "add", "p", "--dir", "work")
        for agent in AGENTS:
            passkey = install.json("agent", "add", agent, "--project", "p")["passkey"]
            (place / f"{agent}.passkey").write_text(passkey)

    def command(self, place: Path, port: int | None) -> list[str]:
        way = ["mcp"] if port is None else ["up", "--port", str(port), "--json"]
        return [str(AIPM), *way, "--config", str(place / "aipm.toml")]

    async def introduce(self, channel: Channel, place: Path) -> dict[str, str]:
        keys = {}
        for agent in AGENTS:
            for purpose in ("task", "chat"):
                login = tool(
                    "authenticate",
                    agent_id=agent,
                    passkey=(place / f"{agent}.passkey").read_text(),
                    project_id="p",
                    purpose=purpose,
                )
                answer = content(await channel.ask(login))
                keys[f"{agent} {purpose}"] = answer["result"]["session_token"]
        return keys

    def call(self, work: Work, number: int, keys: Mapping[str, str]) -> Message | None:
        sender, receiver = AGENTS[number % 2], AGENTS[(number + 1) % 2]
        if work == "first":
            return tool("help")
        if work == "read":
            return tool("get_my_task", session_token=keys["ann task"])
        if work == "wait":
            return tool("get_next_action", session_token=keys["ann task"], timeout_seconds=55)
        token = keys[f"{sender} chat"]
        return tool("send_message", session_token=token, target_agent_id=receiver, content=TEXT)

    def stored(self, place: Path) -> int:
        with closing(sqlite3.connect(place / ".aipm-data" / "aipm.db")) as database:
            return int(database.execute("select count(*) from messages").fetchone()[0])
