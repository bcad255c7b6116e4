"""A third-party plugin that dies at a chosen write, for tests of what is left then.

``CRASH_ORDERS`` names a file with the write (see ``tests/write_paths.py``) and the moment:
``inside`` the unit, after its last statement; ``committed``, before anybody is told; ``told``, when
the reply is out and nothing else has happened since. ``CRASH_SEEN`` names a file that collects
who wrote at all.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

from aipm_store.sqlite import SqliteStore
from aipm_store.writer import Writer

from aipm_core import Plugin

_ORDERS, _SEEN = Path(os.environ["CRASH_ORDERS"]), Path(os.environ["CRASH_SEEN"])
_SOON = 0.05  # seconds in which upkeep goes on after its write
_really_write, _really_commit = SqliteStore.write, Writer._commit
_doomed: set[Any] = set()
_seen: set[str] = set()
_dying = False


class CrashPlugin(Plugin):
    """Has nothing to offer."""


def die() -> NoReturn:
    """Be killed, and do nothing more until it happens."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
    raise RuntimeError("not dead")


def _write(store: SqliteStore, unit: Any) -> Any:
    caller = sys._getframe(1)
    _note(caller)
    orders = json.loads(_ORDERS.read_text()) if _ORDERS.exists() else None
    if orders and (_calls(orders, caller) or _holds(orders, unit)):
        return _last_write(store, unit, orders)
    return _really_write(store, unit)


def _note(caller: FrameType) -> None:
    name = f"{caller.f_globals['__name__']}:{caller.f_code.co_qualname}"
    if name not in _seen:
        _seen.add(name)
        with _SEEN.open("a") as out:
            out.write(f"{name}\n")


def _calls(orders: Any, caller: FrameType) -> bool:
    place = (caller.f_globals["__name__"], caller.f_code.co_qualname)
    inside = orders["first"] <= caller.f_lineno <= orders["last"]
    return inside and place == (orders["module"], orders["function"])


def _holds(orders: Any, unit: Any) -> bool:
    """Return whether the unit itself was written there, and handed to somebody else to run."""
    code = getattr(unit, "__code__", None)
    return (
        isinstance(code, CodeType)
        and code.co_filename.endswith(orders["module"].replace(".", "/") + ".py")
        and orders["first"] <= code.co_firstlineno <= orders["last"]
    )


async def _last_write(store: SqliteStore, unit: Any, orders: Any) -> Any:
    async def marked(tx: Any) -> Any:
        result = await unit(tx)
        if orders["moment"] == "inside":
            die()
        return result

    if orders["moment"] == "committed":
        _doomed.add(marked)
    result = await _really_write(store, marked)
    if orders["moment"] == "told":
        _die_when_told(orders["kind"])
    return result


def _commit(writer: Writer, batch: Any) -> None:
    _really_commit(writer, batch)
    if any(job.unit in _doomed and job.error is None for job in batch):
        die()


def _die_when_told(kind: str) -> None:
    global _dying  # noqa: PLW0603 - one process, one death
    _dying = True
    if kind == "upkeep":
        asyncio.get_running_loop().call_later(_SOON, die)
    elif kind == "command":
        sys.stdout.write = partial(_last_words, sys.stdout.write)  # type: ignore[method-assign]


def _last_words(write: Callable[[str], int], text: str) -> NoReturn:
    write(text)
    sys.stdout.flush()
    die()


class _Straight:
    """A transport that leaves nothing to a later turn of the event loop."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._socket = transport.get_extra_info("socket").fileno()

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._socket, data) :]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _watch_replies() -> None:
    cycle = importlib.import_module("uvicorn.protocols.http.httptools_impl").RequestResponseCycle
    really_send = cycle.send

    async def send(self: Any, message: Any) -> None:
        if _dying and not isinstance(self.transport, _Straight):
            self.transport = _Straight(self.transport)
        last = message["type"] == "http.response.body" and not message.get("more_body")
        if _dying and last:
            self.on_response = die
        await really_send(self, message)
        if _dying and last:
            die()

    cycle.send = send


SqliteStore.write = _write  # type: ignore[method-assign, assignment]
Writer._commit = _commit  # type: ignore[method-assign, assignment]
if "up" in sys.argv:
    _watch_replies()
