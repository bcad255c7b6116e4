"""What one writes by hand when a library has no messages: one SQLite file and one event."""

import sqlite3

import anyio


class Mailbox:
    """Keeps a message on disk before it is acknowledged; wakes all who wait."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")
        self._database.execute("create table if not exists messages (id integer primary key, text)")
        self._bell: anyio.Event | None = None
        self._rung = False  # before anybody waited

    def keep(self, text: str) -> None:
        self._database.execute("insert into messages (text) values (?)", (text,))

    async def wait(self) -> None:
        if self._rung:
            self._rung = False
            return
        self._bell = self._bell or anyio.Event()
        with anyio.move_on_after(55):
            await self._bell.wait()

    def ring(self) -> None:
        self._rung = self._bell is None
        if self._bell is not None:
            self._bell.set()
            self._bell = None
