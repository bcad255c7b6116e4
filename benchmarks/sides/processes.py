"""Servers in processes of their own: started, watched, and ended with all their children."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PATIENCE = 10
_TICKS = os.sysconf("SC_CLK_TCK")
_SESSION, _UTIME, _STIME = 3, 11, 12  # fields of /proc/PID/stat after the name


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def launch(command: Sequence[str], env: Mapping[str, str], place: Path) -> subprocess.Popen[bytes]:
    """Start a process that leads a session of its own, so that its children are found."""
    with (place / "stderr.txt").open("wb") as errors:
        return subprocess.Popen(
            command,
            env=env,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, then make it end, with its children."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def last_words(place: Path) -> str:
    """Return the last line a process wrote to its standard error."""
    file = place / "stderr.txt"
    lines = file.read_text(errors="replace").split("\n") if file.is_file() else []
    return next((line.strip()[:160] for line in reversed(lines) if line.strip()), "no message")


def memory_mb(leader: int) -> float:
    """Return the resident memory of a process and its children."""
    total = 0
    for folder in _family(leader):
        with suppress(OSError, IndexError):
            status = (folder / "status").read_text()
            total += int(status.partition("VmRSS:")[2].split()[0])
    return total / 1024


def cpu_seconds(leader: int) -> float:
    """Return the processor time that a process and its children have used."""
    ticks = 0
    for folder in _family(leader):
        with suppress(OSError):
            fields = _stat(folder)
            ticks += int(fields[_UTIME]) + int(fields[_STIME])
    return ticks / _TICKS


def _family(leader: int) -> Iterator[Path]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(_stat(folder)[_SESSION]) == leader:
                yield folder


def _stat(folder: Path) -> list[str]:
    return (folder / "stat").read_text().rpartition(")")[2].split()
