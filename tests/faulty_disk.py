"""A disk that fails and a clock that jumps, on command, for one process (``fault_shim.c``)."""

import errno
import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("fault_shim.c")
_ORDERS = struct.Struct("@iiii112s")
_CLOCK = struct.Struct("@i")
_CLOCK_PLACE = 12
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Trouble(IntEnum):
    """What goes wrong; the numbers are those of the shim."""

    QUIET = 0
    FAIL_WRITE = 1
    SHORT_WRITE = 2
    FAIL_SYNC = 3
    FAIL_READ = 4


class FaultyDisk:
    """Orders for the shim, in a file that the shim has mapped."""

    def __init__(self, directory: Path) -> None:
        assert COMPILER is not None
        directory.mkdir(parents=True)
        self._shim = directory / "shim.so"
        made = ["-o", str(self._shim), str(SOURCE), "-ldl"]
        subprocess.run([COMPILER, "-shared", "-fPIC", "-O2", *made], check=True)
        self._file = directory / "orders"
        self._file.write_bytes(bytes(_ORDERS.size))
        with self._file.open("r+b") as file:
            self._orders = mmap.mmap(file.fileno(), _ORDERS.size)

    @property
    def environ(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._shim), "AIPM_FAULTS": str(self._file)}

    @contextmanager
    def in_trouble(self, trouble: Trouble, path: str, error: int = errno.EIO) -> Iterator[None]:
        """Fail in every file whose path holds ``path``; it must have happened in the end."""
        seconds = _CLOCK.unpack_from(self._orders, _CLOCK_PLACE)[0]
        orders = _ORDERS.pack(0, error, 0, seconds, path.encode())
        self._orders[:] = orders
        self._orders[:4] = _CLOCK.pack(trouble)  # last, when everything else is in place
        try:
            yield
        finally:
            self._orders[:4] = _CLOCK.pack(Trouble.QUIET)
        assert _ORDERS.unpack(self._orders)[2] > 0, "the fault never happened: the test is void"

    def set_clock(self, seconds: int) -> None:
        """Put the wall clock of the process so far off."""
        self._orders[_CLOCK_PLACE : _CLOCK_PLACE + 4] = _CLOCK.pack(seconds)
