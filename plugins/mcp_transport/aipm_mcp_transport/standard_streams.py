"""Standard input and output as a protocol's wire.

They are taken away before any plugin is imported: what a plugin prints, at whatever moment, goes
to stderr, and nobody but the transport reads what the client sends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aipm_core import ServiceKey


@dataclass(frozen=True, slots=True)
class Wire:
    """Descriptors of the real standard input and output."""

    input: int
    output: int


STDIO = ServiceKey[Wire]("core.stdio")


@contextmanager
def claimed() -> Iterator[Wire]:
    """Take both away for the block: input reads as empty, output goes to stderr."""
    wire = Wire(os.dup(0), os.dup(1))
    empty = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(empty, 0)
        os.dup2(2, 1)
        yield wire
    finally:
        os.dup2(wire.input, 0)
        os.dup2(wire.output, 1)
        for descriptor in (empty, wire.input, wire.output):
            os.close(descriptor)
