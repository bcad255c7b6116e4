"""A process to be killed: opens a runtime and writes, printing each write once it is acknowledged.

usage: crash_driver.py DATA_DIR FIRST_NUMBER
"""

import sys
from functools import partial
from pathlib import Path

import anyio
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions

from aipm_core import CallError


async def main(data_dir: Path, first: int) -> None:
    print("starting", flush=True)
    async with running(Sessions, data_dir=data_dir) as aipm:
        print("open", flush=True)
        administration = aipm.runtime.services.use(ADMINISTRATION)

        async def write(lane: int) -> None:
            for number in range(first, first + 100_000):
                name = f"p{number}-{lane}"
                await administration.add_project(name, name, None)
                print(f"ack {name}", flush=True)

        async with anyio.create_task_group() as tasks:
            for lane in range(4):
                tasks.start_soon(partial(write, lane))


if __name__ == "__main__":
    try:
        anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))
    except* CallError as error:
        print(f"error {error.exceptions}", flush=True)
