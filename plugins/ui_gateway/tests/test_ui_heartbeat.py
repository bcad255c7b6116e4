"""A heartbeat is for silence: it never takes the place of an event that comes at that moment."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import anyio
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.endpoints.event_stream import _Stream

HEARTBEAT = 0.05


async def test_an_event_that_comes_with_the_heartbeat_is_sent() -> None:
    """A busy moment of the loop makes both due in one turn, the event first."""
    sent: list[bytes] = []
    frames, reader = anyio.create_memory_object_stream[Any](0)

    async def send(message: Any) -> None:
        sent.append(message["body"])

    context = SimpleNamespace(config=UiGatewayConfig(heartbeat_seconds=HEARTBEAT))
    stream = _Stream(cast("Any", context), send)
    writing = asyncio.create_task(stream.write(cast("Any", reader)))
    while not reader.statistics().tasks_waiting_receive:
        await anyio.lowlevel.checkpoint()
    loop, event = asyncio.get_running_loop(), {"type": "onNoise", "scope": "session", "seq": 1}

    def be_busy() -> None:
        time.sleep(2 * HEARTBEAT)  # not to wait: the loop being held up is what is tested
        loop.call_soon(frames.send_nowait, event)

    loop.call_soon(be_busy)
    with reader:
        with frames, anyio.fail_after(30):
            # The event, and the heartbeat of the silence after it.
            while len(sent) < 2:  # noqa: ASYNC110
                await asyncio.sleep(HEARTBEAT)
        assert await writing
    assert [line for line in sent if line.startswith(b"id: 1")], sent
    assert b": heartbeat\n\n" in sent
