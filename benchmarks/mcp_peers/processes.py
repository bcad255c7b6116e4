"""Servers in processes of their own, and what they cost."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from aipm_core.testkit import Install

HERE = Path(__file__).parent
FAST_VENV = Path(sys.prefix) / "bench-fastmcp"


@dataclass
class Peer:
    """A running server and the call to measure."""

    name: str
    url: str
    pid: int
    tool: str
    arguments: Mapping[str, object]
    notify: Callable[[str], object] = print

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_kb(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])


@contextmanager
def aipm(settings: str = "") -> Iterator[Peer]:
    """All default plugins, one agent with a task session."""
    with tempfile.TemporaryDirectory(prefix="aipm-bench-") as place:
        install = Install.make(Path(place), settings)
        install.run("project", "add", "p")
        passkey = install.json("agent", "add", "a", "--project", "p")["passkey"]
        with install.up() as server:
            login = {"agent_id": "a", "passkey": passkey, "project_id": "p", "purpose": "task"}
            token = _authenticate(server.mcp, login)

            def notify(message: str) -> object:
                options = ["--project", "p", "--type", "interrupt", "--action", "pause"]
                return install.run("notify", "a", *options, "--message", message)

            pid, arguments = server.process.pid, {"session_token": token}
            yield Peer("aipm", server.mcp, pid, "get_my_task", arguments, notify)


def _authenticate(url: str, login: dict[str, str]) -> str:
    params = {"name": "authenticate", "arguments": login}
    answer = httpx.post(
        url,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={"accept": "application/json, text/event-stream"},
    )
    token: str = answer.json()["result"]["structuredContent"]["result"]["session_token"]
    return token


@contextmanager
def bare(name: str, python: Path, script: str) -> Iterator[Peer]:
    """A peer's server with one tool that does nothing."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([python, HERE / script, str(port)], stderr=subprocess.DEVNULL)
    try:
        _wait(port, process)
        yield Peer(name, f"http://127.0.0.1:{port}/mcp", process.pid, "nothing", {})
    finally:
        process.kill()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the peer did not start")


def fastmcp_python() -> Path | None:
    """Return a Python that has FastMCP, in a virtual environment that nothing else uses."""
    python = FAST_VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", FAST_VENV], check=True)
        wanted = ["fastmcp>=4,<5", "uvloop", "httptools"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=False)
    has_it = subprocess.run([python, "-c", "import fastmcp"], capture_output=True)
    return python if has_it.returncode == 0 else None
