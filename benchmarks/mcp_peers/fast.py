"""FastMCP with one tool that does nothing: HTTP PORT. Runs in a virtual environment of its own."""

import sys

from fastmcp import FastMCP  # type: ignore[import-not-found]

server = FastMCP("bare")


@server.tool  # type: ignore[untyped-decorator]
async def nothing() -> dict[str, bool]:
    """Nothing."""
    return {"ok": True}


if __name__ == "__main__":
    server.run("http", port=int(sys.argv[1]), show_banner=False, log_level="ERROR")
