"""FastMCP with four small tools: PORT or ``stdio``, and DATABASE."""

import sys

from fastmcp import FastMCP  # type: ignore[import-not-found]

from benchmarks.sides.programs.mailbox import Mailbox

server = FastMCP("bare")
mailbox = Mailbox(sys.argv[2])


@server.tool  # type: ignore[untyped-decorator]
async def nothing() -> dict[str, bool]:
    """Nothing."""
    return {"ok": True}


@server.tool  # type: ignore[untyped-decorator]
async def send(text: str) -> dict[str, bool]:
    """Keep a message."""
    mailbox.keep(text)
    return {"ok": True}


@server.tool  # type: ignore[untyped-decorator]
async def wait() -> dict[str, bool]:
    """Wait until somebody rings."""
    await mailbox.wait()
    return {"ok": True}


@server.tool  # type: ignore[untyped-decorator]
async def ring() -> dict[str, bool]:
    """Wake whoever waits."""
    mailbox.ring()
    return {"ok": True}


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio", show_banner=False, log_level="ERROR")
    else:
        server.run("http", port=int(sys.argv[1]), show_banner=False, log_level="ERROR")
