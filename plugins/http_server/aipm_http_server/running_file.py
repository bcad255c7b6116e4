"""Which server of this data directory runs, and where it answers: a file beside the database."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

_FILE = "server.json"
LOG = "server.log"
"""Where a server in the background writes what it tells."""
_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server: its process and its address."""

    pid: int
    url: str


def note_running(data_dir: Path, running: Running) -> None:
    """Write down that a server answers, whole or not at all."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = data_dir / f"{_FILE}.{running.pid}"
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(asdict(running), file)
    beside.replace(data_dir / _FILE)


def forget_running(data_dir: Path, pid: int) -> None:
    """Take the file away, unless another server has written it since."""
    noted = _read(data_dir)
    if noted is not None and noted.pid == pid:
        (data_dir / _FILE).unlink(missing_ok=True)


def find_running(data_dir: Path) -> Running | None:
    """Return the server that answers where the file says; one that does not is none."""
    noted = _read(data_dir)
    return noted if noted is not None and _answers(noted.url) else None


def _read(data_dir: Path) -> Running | None:
    try:
        read = json.loads((data_dir / _FILE).read_text(encoding="utf-8"))
        return Running(pid=int(read["pid"]), url=str(read["url"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _answers(url: str) -> bool:
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=_SECONDS)
    with suppress(OSError, HTTPException):
        connection.request("GET", "/healthz")
        return connection.getresponse().status < HTTPStatus.INTERNAL_SERVER_ERROR
    return False
