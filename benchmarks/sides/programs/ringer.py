"""Another process on aipm's data: DATA_DIR AGENT. Every line it reads is an interrupt it leaves."""

import asyncio
import sys
from pathlib import Path

import uvloop
from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings
from aipm_notifications.api import INBOX

from aipm_core import Tx


async def main(data_dir: Path, agent: str) -> None:
    async with open_runtime(Settings(data_dir=data_dir)) as runtime:
        inbox = runtime.services.use(INBOX)

        async def interrupt(tx: Tx) -> None:
            await inbox.put(tx, agent_id=agent, project_id="p", type="interrupt", message="stop")

        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            await runtime.store.write(interrupt)
            print("left", flush=True)


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), sys.argv[2]))
