"""A process that floods a server until its standard input ends, then says what it was answered.

A process of its own, so that those who measure do not wait for those who flood.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CONNECTIONS = 4


class Flood:
    """What came of a flood, once it is over."""

    outcomes: Counter[str]
    seconds: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.outcomes.total() / self.seconds


@contextmanager
def flooding(url: str, path: str, token: str, body: Mapping[str, Any]) -> Iterator[Flood]:
    """Post a body without a pause while the block runs; ``{n}`` in it is counted up."""
    flood = Flood()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.security.flooding", url, path, token, json.dumps(body)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        yield flood
        told, _ = process.communicate(timeout=60)
    answers = json.loads(told)
    flood.outcomes, flood.seconds = Counter(answers["outcomes"]), answers["seconds"]


def _outcome(reply: Any) -> str:
    told = reply.get("result", {}).get("structuredContent", reply)
    error = told.get("error", told)
    return str(error.get("code", "ok"))


def _flood(url: str, path: str, token: str, body: str) -> None:
    outcomes: Counter[str] = Counter()
    over, numbers, begun = threading.Event(), count(), threading.Event()

    def act() -> None:
        connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
        headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        while not over.is_set():
            said = body.replace("{n}", f"{next(numbers)}-{time.monotonic_ns()}")
            connection.request("POST", path, said, headers)
            outcomes[_outcome(json.loads(connection.getresponse().read()))] += 1
            begun.set()
        connection.close()

    threads = [threading.Thread(target=act) for _ in range(CONNECTIONS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    begun.wait(60)
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - started
    sys.stdout.write(json.dumps({"outcomes": outcomes, "seconds": seconds}))


if __name__ == "__main__":
    _flood(*sys.argv[1:])
