"""A process to be killed: eight clients send without end; each acknowledgement is printed.

usage: chat_crash_driver.py ROOT NAME [DEATH AT]

DEATH is ``before``, ``torn`` or ``after``: the process kills itself before, in the middle of or
right after its write number AT to a chat file.
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path

import anyio
from aipm_file_chat import lines
from aipm_file_chat.testing import Team, team
from aipm_markers.plugin import Markers

MEMBERS = [f"client-{number}" for number in range(8)]


class DeadlyOs:
    """The ``os`` module, as the module that appends lines sees it on its last day."""

    def __init__(self, death: str, at: int) -> None:
        self._death, self._at, self._writes = death, at, 0

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def write(self, file: int, text: memoryview) -> int:
        self._writes += 1
        if self._writes != self._at:
            return os.write(file, text)
        if self._death == "torn":
            os.write(file, text[: len(text) // 2])
        elif self._death == "after":
            os.write(file, text)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("dead")


async def send(made: Team, name: str, number: int) -> None:
    for turn in count():
        receiver = MEMBERS[(number + 1 + turn % 7) % 8]
        text = f"{name} {number} {turn} " + "本文" * (turn % 50)
        print("ack", await made.say(MEMBERS[number], receiver, text), flush=True)


async def main(root: Path, name: str) -> None:
    settings = {"sync_seconds": 0.03}  # so that many of the deaths hit the settling too
    print("starting", flush=True)
    async with (
        team(root, Markers, file_chat=settings) as made,
        anyio.create_task_group() as tasks,
    ):
        for number in range(8):
            tasks.start_soon(send, made, name, number)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        lines.os = DeadlyOs(sys.argv[3], int(sys.argv[4]))  # type: ignore[assignment, attr-defined]
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
