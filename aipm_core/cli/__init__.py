"""The ``aipm`` command."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Run ``aipm`` and return its exit code."""
    from aipm_core.cli.root import run

    return run(argv)
