"""What a server process holds: memory, descriptors, threads, and how large its files are."""

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """One look at the process and its files; sizes in bytes."""

    at: float
    rss: int
    descriptors: int
    sockets: int
    threads: int
    database: int
    log: int


class Gauge:
    """Looks at one server and remembers what it saw."""

    def __init__(self, pid: int, data_dir: Path) -> None:
        self._process = Path("/proc", str(pid))
        self._data_dir = data_dir
        self.seen: list[Sample] = []

    def look(self) -> Sample:
        """Take a sample."""
        status = (self._process / "status").read_text()
        links = [_target(link) for link in (self._process / "fd").iterdir()]
        sample = Sample(
            at=time.monotonic(),
            rss=int(status.partition("VmRSS:")[2].split()[0]) * 1024,
            descriptors=len(links),
            sockets=sum(link.startswith("socket:") for link in links),
            threads=int(status.partition("Threads:")[2].split()[0]),
            database=_size(self._data_dir / "aipm.db"),
            log=_size(self._data_dir / "aipm.db-wal"),
        )
        self.seen.append(sample)
        return sample

    def during(self, began: float, ended: float) -> list[Sample]:
        """Return the samples of a stretch of time."""
        return [one for one in self.seen if began <= one.at <= ended]


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""  # closed while we looked


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
