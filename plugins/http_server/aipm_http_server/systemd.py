"""What systemd wants to hear: that the server is ready, alive, and on its way out.

The protocol is one datagram a state (``sd_notify(3)``); without a supervisor nothing is sent.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

import anyio

READY = "READY=1"
STOPPING = "STOPPING=1"
_ALIVE = "WATCHDOG=1"


def tell(state: str) -> None:
    """Send one state to whoever supervises this process, if anybody does."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # a name without a file
        address = f"\0{address[1:]}"
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.connect(address)
        out.send(state.encode())


async def keep_telling() -> None:
    """Say twice an interval that the event loop turns; a loop that hangs is restarted."""
    interval = os.environ.get("WATCHDOG_USEC", "")
    whose = os.environ.get("WATCHDOG_PID", str(os.getpid()))
    if not interval.isdigit() or int(interval) == 0 or whose != str(os.getpid()):
        return
    while True:
        tell(_ALIVE)
        await anyio.sleep(int(interval) / 1e6 / 2)
