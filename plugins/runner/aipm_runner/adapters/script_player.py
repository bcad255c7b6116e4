"""Plays a JSON list of steps as an agent would. Run as a script, with nothing else loaded.

Steps: ``{"tool": NAME, "args": {…}}`` calls a tool and prints its result; ``{"text": …}`` prints;
``{"wait_ms": N}`` waits; ``{"write": {"path": …, "content": …}}`` writes a file in the working
copy; ``{"exit": N}`` ends. ``$TASK`` in an argument is the task of the run. Without a file it does
what ``get_next_action`` says until nothing is left to do.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 90.0
_MOST_STEPS = 200


class Server:
    """The tools of the server, called over MCP."""

    def __init__(self, url: str, token: str) -> None:
        self._url = urlsplit(url)
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {token}",
        }

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; return its result, or say why there is none and end."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        reply = self._post(json.dumps(message))
        result = reply.get("result", {})
        envelope = result.get("structuredContent")
        if envelope is None or "error" in envelope:
            told = envelope["error"]["message"] if envelope else _text(reply)
            say(f"{tool}: {told}")
            return {"error": told}
        say(f"{tool}: {json.dumps(envelope['result'], ensure_ascii=False)[:500]}")
        found: dict[str, Any] = envelope["result"]
        return found

    def _post(self, body: str) -> dict[str, Any]:
        secure = self._url.scheme == "https"
        connection = (HTTPSConnection if secure else HTTPConnection)(
            self._url.netloc, timeout=_PATIENCE_SECONDS
        )
        try:
            connection.request("POST", self._url.path, body.encode(), self._headers)
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        last = text.strip().split("\n")[-1]  # of a stream of events: the answer comes last
        answer: dict[str, Any] = json.loads(last.removeprefix("data: "))
        return answer


def _text(reply: dict[str, Any]) -> str:
    content = reply.get("result", {}).get("content") or [{}]
    return str(content[0].get("text") or reply.get("error"))


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def play(server: Server, steps: list[dict[str, Any]]) -> int:
    """Play steps; return the exit code."""
    actions: dict[str, Callable[[Any, dict[str, Any]], object]] = {
        "tool": lambda name, step: server.call(name, _filled(step.get("args", {}))),
        "text": lambda text, _: say(text),
        "wait_ms": lambda wait, _: time.sleep(wait / 1000),
        "write": lambda file, _: _write(file),
    }
    for step in steps:
        if "exit" in step:
            return int(step["exit"])
        for name, act in actions.items():
            if name in step:
                act(step[name], step)
    return 0


def _filled(arguments: dict[str, Any]) -> dict[str, Any]:
    task = os.environ.get("AIPM_TASK_ID", "")
    return {k: task if v == "$TASK" else v for k, v in arguments.items()}


def _write(file: dict[str, str]) -> None:
    path = Path(file["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(file["content"], encoding="utf-8")


def work(server: Server) -> int:
    """Do what there is to do, as a good agent does, until there is nothing."""
    for _ in range(_MOST_STEPS):
        step = server.call("get_next_action", {"timeout_seconds": 2})
        action = str(step.get("action", ""))
        if action.startswith("wait_") or "error" in step:
            server.call("logout", {})
            return 0
        if _answer(server, action, step) == "over":
            return 0
    return 1


def _answer(server: Server, action: str, step: dict[str, Any]) -> str:
    task = (step.get("subtask") or step.get("task") or {}).get("id")
    if action in ("start_task", "start_subtask"):
        server.call("update_task_status", {"task_id": task, "status": "in_progress"})
    elif action == "execute_subtask":
        server.call("update_task_status", {"task_id": task, "status": "done"})
    elif action in ("work", "report_completed", "resolve_blocked_subtasks"):
        result = "blocked" if action.startswith("resolve") else "success"
        server.call("report_completed", {"result": result, "summary": "done by a script"})
        return "over"
    elif action == "get_pending_messages":
        _reply_to_all(server)
    elif action == "process_delegation":
        _report_delegations(server)
    else:
        server.call("get_notifications", {})
    return ""


def _reply_to_all(server: Server) -> None:
    for message in server.call("get_pending_messages", {}).get("pending_messages", []):
        text = f"echo: {message['content']}"
        server.call("respond_chat", {"message_id": message["id"], "content": text})


def _report_delegations(server: Server) -> None:
    for one in server.call("get_pending_messages", {}).get("pending_delegations", []):
        server.call("report_delegation_completed", {"delegation_id": one["id"], "result": "done"})


def main() -> int:
    """Read the script, if one is named, and play it."""
    server = Server(os.environ["AIPM_MCP_URL"], os.environ["AIPM_SESSION_TOKEN"])
    if len(sys.argv) == 1:
        return work(server)
    steps = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    return play(server, steps)


if __name__ == "__main__":
    sys.exit(main())
