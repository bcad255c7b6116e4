"""The program of an agent in the use cases: the runner starts it, it plays its part over real MCP.

Runs alone (``python -I -S``): what its part needs is here. A part is the file AGENT.PURPOSE.py of
the directory it is given; without one it does what any agent would: its task, or an answer.
"""

import http.client
import json
import os
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

PROMPT = sys.stdin.read()
SHARED = Path(sys.argv[1])
ME, PROJECT = os.environ["AIPM_AGENT_ID"], os.environ["AIPM_PROJECT_ID"]
PURPOSE, TASK = os.environ["AIPM_PURPOSE"], os.environ.get("AIPM_TASK_ID", "")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the envelope of a reply; a replaced one as ``{"replaced": text}``."""
    url = urllib.parse.urlsplit(os.environ["AIPM_MCP_URL"])
    wire = http.client.HTTPConnection(url.netloc, timeout=90)
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "authorization": "Bearer " + os.environ["AIPM_SESSION_TOKEN"],
    }
    wire.request("POST", url.path, json.dumps(body), headers)
    last = wire.getresponse().read().decode().strip().split("\n")[-1]
    wire.close()
    answer = json.loads(last.removeprefix("data: "))
    if "error" in answer:
        return {"error": answer["error"]}
    if "structuredContent" not in answer["result"]:
        return {"replaced": answer["result"]["content"][0]["text"]}
    envelope: dict[str, Any] = answer["result"]["structuredContent"]
    return envelope


def result(tool: str, **arguments: Any) -> Any:
    """Return the result of a call that must succeed."""
    envelope = call(tool, **arguments)
    if "result" not in envelope:
        sys.exit(f"{tool}: {envelope}")
    print(tool, flush=True)
    return envelope["result"]


def begin() -> Any:
    """Take the task up; return it."""
    step = result("get_next_action")
    if step["action"] == "start_task":
        result("update_task_status", task_id=TASK, status="in_progress")
        step = result("get_next_action")
    return step["task"]


def write(name: str, text: str) -> None:
    """Leave a file in the working copy."""
    Path(name).write_text(text, encoding="utf-8")


def tell(name: str, text: str) -> None:
    """Tell the test something, beside all that is aipm."""
    part = SHARED / f"{name}.part"
    part.write_text(text, encoding="utf-8")
    part.rename(SHARED / name)


def wait_for(name: str) -> None:
    """Wait until the test says so."""
    while not (SHARED / name).exists():
        time.sleep(0.05)


def done(summary: str = "done") -> None:
    """Report the task as done."""
    result("report_completed", result="success", summary=summary)


def until(action: str) -> Any:
    """Ask for the next action until it is this one."""
    while (step := result("get_next_action", timeout_seconds=20))["action"] != action:
        print("not yet:", step["action"], flush=True)
    return step


def messages() -> list[dict[str, Any]]:
    """Read what others have written."""
    found: list[dict[str, Any]] = result("get_pending_messages")["pending_messages"]
    return found


def say(to: str, text: str) -> None:
    """Write to somebody."""
    result("send_message", target_agent_id=to, content=text)


def answer_all() -> None:
    """Answer what was written, and leave when nothing waits any more."""
    while result("get_next_action", timeout_seconds=1)["action"] == "get_pending_messages":
        for message in messages():
            say(message["senderId"], f"{ME}: {message['content']}")
    result("logout")


def play() -> None:
    """Play the part of this agent."""
    part = SHARED / f"{ME}.{PURPOSE}.py"
    if part.exists():
        exec(compile(part.read_text(encoding="utf-8"), part, "exec"), globals())  # noqa: S102
    elif PURPOSE == "task":
        write(f"{ME}.txt", begin()["title"])
        done()
    else:
        answer_all()


if __name__ == "__main__":
    play()
