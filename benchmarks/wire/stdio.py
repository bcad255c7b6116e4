"""A server at the other end of a pipe: requests in flight are told apart by their number."""

import asyncio
import json
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.wire.messages import GREETED, HELLO, Message, encode, is_error

LONGEST_LINE = 1 << 24
PATIENCE = 10


class Pipe:
    """One process, and any number of callers who share its standard input."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, command: Sequence[str], env: Mapping[str, str], place: Path) -> "Pipe":
        """Start the process; it answers when it can."""
        process = await asyncio.create_subprocess_exec(
            *command,
            env=env,
            cwd=place,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """The process, which leads a session of its own."""
        return self._process.pid

    async def greet(self) -> None:
        """Open the conversation."""
        await self.ask(HELLO)
        self._write(encode(GREETED))

    async def ask(self, message: Message) -> Any:
        body = await self._exchange(message)
        answer = json.loads(body)
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{message['method']} was refused: {body[:300]!r}")
        return answer["result"]

    async def tell(self, frame: bytes) -> bool:
        return not is_error(await self._exchange(json.loads(frame)))

    def frame(self, message: Message) -> bytes:
        return encode(message)

    def close(self) -> None:
        """Leave the process to the other callers."""

    async def end(self) -> None:
        """End the process and its children."""
        assert self._process.stdin
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await self._reading

    async def _exchange(self, message: Message) -> bytes:
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._write(encode({**message, "id": number}))
        return await answer

    def _write(self, line: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + b"\n")

    async def _read(self) -> None:
        """Hand every answer to whoever waits for it; skip what is not one."""
        assert self._process.stdout
        while line := await self._process.stdout.readline():
            answer = self._waiting.pop(_number(line), None)
            if answer is not None and not answer.done():
                answer.set_result(line)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the process ended"))


def _number(line: bytes) -> int:
    """Return the number of an answer; 0 for anything else that a server may write."""
    try:
        return int(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError):
        return 0
