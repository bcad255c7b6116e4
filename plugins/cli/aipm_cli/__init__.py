"""The ``aipm`` command: finds the commands of all packages, and runs one."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run ``aipm`` and return its exit code."""
    given = sys.argv[1:] if argv is None else argv
    match given:
        # An agent's program waits a second at most for this one: it goes past the command line.
        case ["mcp"]:
            return _serve_stdio(None)
        case ["mcp", "--config", file] if not file.startswith("-"):
            return _serve_stdio(file)
        case ["mcp", "--config", file, "--token-file", token] if not file.startswith("-"):
            return _serve_stdio(file, token)
    from aipm_cli.root import run

    return run(argv)


def _serve_stdio(file: str | None, token_file: str | None = None) -> int:
    import gc
    from pathlib import Path

    from aipm_mcp_transport.api import serve_stdio

    from aipm_cli.failures import fail, foreseen

    gc.disable()  # nothing that is imported becomes garbage; `serve_stdio` switches it on again
    try:
        config = Path(file) if file is not None else None
        serve_stdio(config, Path(token_file) if token_file is not None else None)
    except (Exception, KeyboardInterrupt) as error:
        failure = foreseen(error)
        if failure is None:
            raise
        return fail(*failure)
    return 0
