"""The lock under which tables are changed, one process at a time."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from aipm_core import StoreError

_PATIENCE = 10.0  # seconds; whoever holds it longer has been stopped


@contextmanager
def locked(path: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold a lock file, waiting for other processes in the order of arrival, but not for ever."""
    held, done = threading.Event(), threading.Event()
    # The kernel's queue is fair, but waiting in it cannot be ended: so a thread does it.
    keeper = threading.Thread(target=_keep, args=(path.open("ab"), held, done), daemon=True)
    keeper.start()
    if not held.wait(patience):
        done.set()
        raise StoreError(
            f"another process holds {path} and does not go on; end it or let it continue "
            f"(`fuser {path}` names it)"
        )
    try:
        yield
    finally:
        done.set()
        keeper.join()


def _keep(lock: IO[bytes], held: threading.Event, done: threading.Event) -> None:
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held.set()
        done.wait()
