"""task-master-ai: tasks for agents in one JSON file, over stdio only."""

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.sides.installing import node_with
from benchmarks.sides.side import Side, Work
from benchmarks.wire.load import Load
from benchmarks.wire.messages import Channel, Message, tool

VERSION = "0.43.1"
CLIENTS = 64
STATUSES = ("done", "in-progress")
TIME = "2026-01-01T00:00:00.000Z"


class TaskMaster(Side):
    """Its nearest to a message is the status of a task: every client sets that of its own."""

    name = "task-master"
    http = False

    def prepare(self) -> str:
        self._node, self._package = node_with("task-master", f"task-master-ai@{VERSION}")
        return VERSION

    def furnish(self, place: Path) -> None:
        tasks = [
            {"id": number, "title": "t", "description": "d", "status": "pending"}
            | {"dependencies": [], "priority": "medium", "subtasks": []}
            for number in range(1, CLIENTS + 1)
        ]
        metadata = {"created": TIME, "updated": TIME, "description": "bench"}
        file = place / ".taskmaster" / "tasks" / "tasks.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"master": {"tasks": tasks, "metadata": metadata}}))

    def command(self, place: Path, port: int | None) -> list[str]:
        return [str(self._node), str(self._package / "dist" / "mcp-server.js")]

    def environ(self, place: Path) -> dict[str, str]:
        return {**super().environ(place), "TASK_MASTER_TOOLS": "core"}

    async def introduce(self, channel: Channel, place: Path) -> dict[str, str]:
        return {"place": str(place)}

    def call(self, work: Work, number: int, keys: Mapping[str, str]) -> Message | None:
        place = keys.get("place", ".")
        return tool("next_task", projectRoot=place) if work in {"read", "first"} else None

    def calls(self, work: Work, number: int, keys: Mapping[str, str]) -> list[Message]:
        if work != "send":
            return super().calls(work, number, keys)
        task = {"projectRoot": keys["place"], "id": str(number + 1)}
        return [tool("set_task_status", **task, status=status) for status in STATUSES]

    def stored(self, place: Path) -> int:
        return 0  # nothing is added here, only changed

    def audit(self, place: Path, before: int, rounds: list[Load]) -> tuple[int, int]:
        """Count the tasks whose last change was acknowledged, and those that show it.

        Where an error came after it nobody knows what the file should show.
        """
        file = place / ".taskmaster" / "tasks" / "tasks.json"
        tasks = json.loads(file.read_text())["master"]["tasks"]
        shown = {int(one["id"]): one["status"] for one in tasks}  # it writes them as texts
        told = {
            number + 1: STATUSES[(answers - 1) % len(STATUSES)]
            for number, answers in enumerate(rounds[-1].answered_by)
            if rounds[-1].ended_well[number]
        }
        return len(told), sum(shown.get(task) == status for task, status in told.items())
