"""Wakes waiters in the other processes that share a data directory.

Every process binds one datagram socket below the data directory. After a commit the writer sends
the topics to all of them: 60 µs, against 1 ms and constant CPU for polling. A lost datagram costs
only time: :mod:`sqlite` also looks at ``PRAGMA data_version`` now and then.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from aipm_core import StoreError

_LONGEST_PATH = 100  # sun_path holds 108 bytes on Linux and 104 on macOS
_LONGEST_MESSAGE = 32_768
EVERYTHING = b"*"


class Doorbell:
    """The socket of this process, and the way to the others."""

    def __init__(self, data_dir: Path) -> None:
        self._room = _room(data_dir)
        self._own = self._room / f"{secrets.token_hex(4)}.bell"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind(str(self._own))
        self._sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sender.setblocking(False)
        self._owed: dict[str, set[str]] = {}

    def ring(self, topics: set[str]) -> bool:
        """Tell every other process, and what it could not be told before.

        Returns whether something is still owed to a process whose socket is full (Linux holds 10
        datagrams): ring again soon, with no topics if there are none. A socket nobody listens on
        any more is removed.
        """
        owed, self._owed = self._owed, {}
        for name in os.listdir(self._room):  # noqa: PTH208 - runs once a commit
            if name == self._own.name:
                continue
            if wanted := owed.get(name, set()) | topics:
                self._send(wanted, name)
        return bool(self._owed)

    def _send(self, topics: set[str], name: str) -> None:
        message = "\n".join(topics).encode()
        if len(message) > _LONGEST_MESSAGE:
            message = EVERYTHING
        address = f"{self._room}/{name}"
        try:
            self._sender.sendto(message, address)
        except BlockingIOError:
            self._owed[name] = topics
        except ConnectionRefusedError:
            with suppress(OSError):
                os.unlink(address)  # noqa: PTH108
        except OSError:
            pass  # just closed

    def heard(self) -> list[str] | None:
        """Return the topics received since last asked; ``None`` stands for all topics."""
        topics: list[str] = []
        while True:
            try:
                message = self.socket.recv(_LONGEST_MESSAGE)
            except BlockingIOError:
                return topics
            if message == EVERYTHING:
                return None
            topics += message.decode().split("\n")

    def close(self) -> None:
        """Take the socket away."""
        self.socket.close()
        self._sender.close()
        self._own.unlink(missing_ok=True)


def _room(data_dir: Path) -> Path:
    """Return the directory of the sockets: in the data directory unless its path is too long."""
    room = data_dir.resolve() / "bells"
    if len(bytes(room)) > _LONGEST_PATH - 16:
        mark = hashlib.sha256(bytes(data_dir.resolve())).hexdigest()[:16]
        room = Path(tempfile.gettempdir()) / f"aipm-{os.geteuid()}-{mark}"
    room.mkdir(mode=0o700, exist_ok=True)
    if room.stat().st_uid != os.geteuid() or room.is_symlink():
        raise StoreError(f"{room} belongs to another user; remove it")
    return room
