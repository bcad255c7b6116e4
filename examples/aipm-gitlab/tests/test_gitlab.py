import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from aipm_devkit.testing import TASK
from aipm_gitlab import Gitlab

from aipm_core import Request


@pytest.fixture
def gitlab() -> Iterator[str]:
    """A pipeline of two jobs, one of which is over at every look."""
    looks = [0]

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.startswith("/api/v4/projects/group%2Fname/pipelines/7")
            body: Any = {"status": "success" if looks[0] > 2 else "running"}
            if self.path.endswith("/jobs"):
                body = [{"status": "success" if n < looks[0] else "running"} for n in range(2)]
                looks[0] += 1
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_it_waits_and_tells_how_far_it_is(
    aipm_runtime: Callable[..., Any], gitlab: str
) -> None:
    told: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        told.append((done, total))

    async with aipm_runtime(Gitlab, gitlab={"url": gitlab, "look_seconds": 0.001}) as aipm:
        wanted = {"project": "group/name", "pipeline": 7}
        request = Request(tool="gitlab_wait", arguments=wanted, session=TASK, progress=progress)
        reply = await aipm.runtime.call(request)
        refused = await aipm.call("gitlab_wait", project="none", pipeline=1)
    assert reply.result == {"status": "success", "jobs": 2}
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert (refused.error.code, "404" in refused.error.message) == ("gitlab_refused", True)
