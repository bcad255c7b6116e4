"""JSON-RPC over lines: requests both ways, with deadlines, to a program that may say anything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from aipm_core import Json
from aipm_runner.api import Client, ProgramError

_METHOD_NOT_FOUND, _INTERNAL_ERROR = -32601, -32603
LONGEST_TEXT = 320
"""Longer texts of a program are no messages of its own, but something it quotes."""
OnRequest: TypeAlias = Callable[[str, Mapping[str, Json]], Awaitable[Json]]
OnNotification: TypeAlias = Callable[[str, Mapping[str, Json]], None]


class RemoteError(Exception):
    """The program answered a request with an error."""

    def __init__(self, error: Json) -> None:
        told = error if isinstance(error, Mapping) else {}
        super().__init__(str(told.get("message", error))[:LONGEST_TEXT])
        self.code = told.get("code")
        self.data = told.get("data")


class NoSuchMethod(Exception):
    """The program asks for what is not offered."""


class JsonRpc:
    """One connection. ``version`` is what each message is marked with, if with anything."""

    def __init__(
        self,
        client: Client,
        on_request: OnRequest,
        on_notification: OnNotification,
        version: str | None = "2.0",
    ) -> None:
        self._client = client
        self._on_request = on_request
        self._on_notification = on_notification
        self._mark: dict[str, Json] = {"jsonrpc": version} if version else {}
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def request(self, method: str, params: Json, seconds: float | None = None) -> Json:
        """Ask and return the result; ``RemoteError``, or ``ProgramError`` when none comes."""
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._client.send({**self._mark, "id": number, "method": method, "params": params})
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise ProgramError("handshake_timeout", f"no answer to {method}") from None
        finally:
            del self._waiting[number]

    def notify(self, method: str, params: Json = None) -> None:
        """Tell without waiting for an answer."""
        told = {} if params is None else {"params": params}
        self._client.send({**self._mark, "method": method, **told})

    def read(self, line: str) -> None:
        """Take in a line; what is no message of the protocol goes to the log."""
        message = parsed(line)
        if message is None:
            self._client.update(line)
            return
        method, params = message.get("method"), message.get("params")
        given: Mapping[str, Json] = params if isinstance(params, Mapping) else {}
        if isinstance(method, str) and "id" in message:
            self._spawn(self._answer(message["id"], method, given))
        elif isinstance(method, str):
            self._on_notification(method, given)
        else:
            self._resolve(message)

    def _resolve(self, message: Mapping[str, Json]) -> None:
        number = message.get("id")
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is None or waiting.done():
            return  # an answer that came too late, or twice
        if "error" in message:
            waiting.set_exception(RemoteError(message["error"]))
        else:
            waiting.set_result(message.get("result"))

    async def _answer(self, number: Json, method: str, params: Mapping[str, Json]) -> None:
        try:
            told: dict[str, Json] = {"result": await self._on_request(method, params)}
        except NoSuchMethod:
            error = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not offered"}
            told = {"error": error}
        except Exception as problem:  # noqa: BLE001 - a question that fails is answered all the same
            told = {"error": {"code": _INTERNAL_ERROR, "message": type(problem).__name__}}
        self._client.send({**self._mark, "id": number, **told})

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


def parsed(line: str) -> Mapping[str, Json] | None:
    """Return the object a line is; ``None`` if it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, Mapping) else None
