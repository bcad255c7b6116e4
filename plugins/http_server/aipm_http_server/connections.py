"""Who is connected. Connections without a token make room for each other, never for none.

A connection is *known* once a valid token was shown on it. All others are strangers: when places
run out, the stranger that has been silent for longest is closed, so that a newcomer always gets in.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aipm_http_server.seldom import Seldom
from aipm_http_server.settings import ServerSettings

try:
    import resource
except ImportError:  # not on this system, where nothing like it is counted
    resource = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)
_STATE = "aipm.connection"  # the key in an ASGI scope's state
_SPARE_FILES = 128  # for the store, programs and chat files
_LEAST, _KEPT = 16, 64  # places there always are; places that strangers always have


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many connections there may be."""

    known: int
    total: int
    idle: int
    idle_per_address: int

    @classmethod
    def of(cls, settings: ServerSettings) -> Room:
        """Take what the settings allow, as far as the process may have files open."""
        total = max(2, min(settings.max_connections, _files()))
        idle = min(settings.max_idle_connections, max(1, total // 2))
        return cls(
            known=max(1, total - max(1, min(_KEPT, total // 8))),
            total=total,
            idle=idle,
            idle_per_address=min(settings.max_idle_connections_per_address, idle),
        )


def _files() -> int:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else -1
    if most < 0:
        return 1 << 31
    return int(max(_LEAST, most - max(_SPARE_FILES, most // 4)))


class Connection:
    """One connection, whatever protocol it speaks."""

    def __init__(self, all_: Connections, address: str, drop: Callable[[], None]) -> None:
        self._all = all_
        self.address = address
        self.drop = drop
        self.known = False

    def works(self) -> None:
        """Note that a whole request is here and is being answered."""
        self._all.move(self, busy=True)

    def rests(self) -> None:
        """Note that nothing is under way."""
        self._all.move(self, busy=False)

    def recognise(self) -> bool:
        """Note that a valid token was shown; ``False`` if there is no place for one more."""
        return self.known or self._all.recognise(self)

    def leave(self) -> None:
        """Give the place back."""
        self._all.remove(self)


class Connections:
    """All connections of one server."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._known: set[Connection] = set()
        # In the order in which they fell silent or began to be answered: the first goes first.
        self._idle: dict[Connection, None] = {}
        self._busy: dict[Connection, None] = {}
        self._addresses: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._closed = Seldom(logger, "closed {count} connections without a token to make room")
        self._refused = Seldom(logger, "refused {count} requests: all connections are taken")

    def add(self, address: str, drop: Callable[[], None]) -> Connection:
        """Take a newcomer in; another stranger goes if there is no room."""
        made = Connection(self, address, drop)
        self._rest(made)
        if len(self._known) + len(self._idle) + len(self._busy) > self._room.total:
            self._close(next(iter(self._idle if len(self._idle) > 1 else self._busy)))
        return made

    def move(self, connection: Connection, *, busy: bool) -> None:
        """Note whether a stranger is being answered."""
        if connection not in self._idle and connection not in self._busy:
            return  # known, or gone
        self._forget(connection)
        if busy:
            self._busy[connection] = None
        else:
            self._rest(connection)

    def recognise(self, connection: Connection) -> bool:
        """Count a connection among the known ones, if there is a place."""
        if len(self._known) >= self._room.known:
            self._refused.note()
            return False
        self._forget(connection)
        self._known.add(connection)
        connection.known = True
        return True

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._forget(connection)
        self._known.discard(connection)

    def _rest(self, connection: Connection) -> None:
        self._idle[connection] = None
        neighbours = self._addresses[connection.address]
        neighbours[connection] = None
        if len(neighbours) > self._room.idle_per_address:
            self._close(next(iter(neighbours)))
        elif len(self._idle) > self._room.idle:
            self._close(next(iter(self._idle)))

    def _forget(self, connection: Connection) -> None:
        self._idle.pop(connection, None)
        self._busy.pop(connection, None)
        neighbours = self._addresses[connection.address]
        neighbours.pop(connection, None)
        if not neighbours:
            del self._addresses[connection.address]

    def _close(self, connection: Connection) -> None:
        self._forget(connection)
        self._closed.note()
        connection.drop()


def state_of(connection: Connection) -> Mapping[str, Any]:
    """Return what a connection adds to the state of its ASGI scopes."""
    return {_STATE: connection}


def connection_of(scope: Mapping[str, Any]) -> Connection | None:
    """Return the connection a request came on."""
    found: Connection | None = scope.get("state", {}).get(_STATE)
    return found


def recognise(scope: Mapping[str, Any]) -> None:
    """Note that a valid token came with this request, in its body or in a frame."""
    if (connection := connection_of(scope)) is not None:
        connection.recognise()
