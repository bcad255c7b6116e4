"""Whether the server can do its work: read and write the store, now."""

from __future__ import annotations

import anyio

from aipm_core import Store, Tx

_KEPT = 1.0  # seconds an answer is good for: anybody may ask, and asking costs a write
_PATIENCE = 3.0
_PROBE = " probe"  # no session has such an id


class Readiness:
    """Asks the store by really writing: a full disk can still be read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answer = False
        self._good_until = 0.0
        self._asking = anyio.Lock()

    async def __call__(self) -> bool:
        """Return whether the store can be read and written."""
        async with self._asking:
            if anyio.current_time() >= self._good_until:
                self._answer = await self._ask()
                self._good_until = anyio.current_time() + _KEPT
            return self._answer

    async def _ask(self) -> bool:
        try:
            with anyio.fail_after(_PATIENCE):
                await self._store.write(_write_and_take_back)
        except Exception:  # noqa: BLE001 - not ready is the whole answer
            return False
        return not self._store.ending


async def _write_and_take_back(tx: Tx) -> None:
    await tx.run("insert into event_streams (stream, last_seq) values (?, 0)", _PROBE)
    await tx.run("delete from event_streams where stream = ?", _PROBE)
