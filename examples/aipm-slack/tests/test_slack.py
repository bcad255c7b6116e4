import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import pytest


@pytest.fixture
def channel() -> Iterator[tuple[str, "Queue[str]"]]:
    """A channel that is away for the first message, as the real one may be."""
    got: Queue[str] = Queue()
    answers = iter((500, 200, 200))

    class Channel(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = json.loads(self.rfile.read(int(self.headers["content-length"])))["text"]
            status = next(answers)
            self.send_response(status)
            self.end_headers()
            if status < 300:
                got.put(text)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = HTTPServer(("127.0.0.1", 0), Channel)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_blocked_task_is_told_though_the_channel_was_away(
    aipm_team: Callable[..., Any], channel: tuple[str, "Queue[str]"]
) -> None:
    url, got = channel
    team = aipm_team("worker-1", people=("anna",), toml=f"[plugins.slack]\nurl = '{url}'\n")
    anna = team.person("anna")
    task = anna.call("create_task", project_id="p", title="Ship", assignee_id="worker-1")["task"]
    worker = team.agent("worker-1")
    worker.call("update_task_status", task_id=task["id"], status="in_progress")
    worker.call("update_task_status", task_id=task["id"], status="blocked", reason="no key")
    assert got.get(timeout=60) == "Ship: blocked (no key)"
