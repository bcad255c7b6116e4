"""Nothing is lost and nothing comes twice: reconnecting, lagging behind, stopping."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx
import pytest
from aipm_ui_gateway.api import new_message, system_message
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.testing import Person, ServedTeam, served
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from aipm_core import Tx


async def tell(stage: ServedTeam, session: str, *contents: str) -> None:
    """Publish many messages in one transaction."""

    async def record(tx: Tx) -> None:
        for content in contents:
            await stage.runtime.events.record(tx, new_message(session, content))

    await stage.runtime.store.write(record)


async def read_some(
    stage: ServedTeam, person: Person, session: str, seen: list[int], way: str
) -> None:
    """Take up where the last connection broke off, read a few events, and break off again."""
    count = random.randint(0, 8)
    if way == "sse":
        async with stage.stream(person, session, seen[-1] if seen else 0) as stream:
            seen += [(await stream.event())["seq"] for _ in range(count)]
        return
    async with connected(stage.ws, person.token) as ui:
        payload = {"sessionId": session, "lastSeq": seen[-1] if seen else 0}
        await ui.command("openSession", payload)
        seen += [(await ui.event())["seq"] for _ in range(count)]
        ui.socket.transport.abort()


async def test_fifty_forced_disconnects_leave_no_gap_and_no_duplicate() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        seen: list[int] = []

        async def talk() -> None:
            for number in range(600):
                await stage.publish(new_message(session, str(number)))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(talk)
                for number in range(50):
                    await read_some(stage, ann, session, seen, ("ws", "sse")[number % 2])
                async with stage.stream(ann, session, seen[-1]) as stream:
                    while len(seen) < 600:
                        seen.append((await stream.event())["seq"])
        assert seen == list(range(1, 601))


async def test_the_header_of_a_browser_that_reconnects_wins_over_the_address() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        await tell(stage, session, "a", "b", "c")
        async with stage.stream(ann, session, 0) as stream:
            await stream.event()
            await stream.event()
            await stream.event()
            await stage.publish(*(system_message("counts elsewhere") for _ in range(9)))
            for _ in range(9):
                await stream.event()
        assert stream.last_event_id == "3"  # system events count in a sequence of their own
        await tell(stage, session, "d")
        headers = {**ann.headers, "Last-Event-ID": stream.last_event_id}
        params = {"session": session, "lastSeq": "0"}
        async with (
            httpx.AsyncClient(base_url=stage.url) as client,
            client.stream("GET", "/events", params=params, headers=headers) as response,
        ):
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    assert json.loads(line[6:])["payload"]["content"] == "d"
                    break


@pytest.mark.parametrize("place", ["-1", "x", "9" * 30, "１"])
async def test_a_place_that_is_no_number_is_refused(place: str) -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        params = {"session": await stage.open(ann), "lastSeq": place}
        reply = await stage.http.get("/events", params=params, headers=ann.headers)
        assert reply.status_code == 400


async def test_a_place_that_was_swept_away_asks_for_a_resync_and_goes_on_live(
    tmp_path: Path,
) -> None:
    keep = {"keep_events_per_session": 5, "sweep_seconds": 0.02}
    async with served(data_dir=tmp_path, ui_gateway=keep) as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        await tell(stage, session, *map(str, range(20)))
        with anyio.fail_after(5):
            while await stage.runtime.store.one("select 1 from events where seq < 16"):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        async with connected(stage.ws, ann.token) as ui, stage.stream(ann, session, 3) as stream:
            await ui.command("openSession", {"sessionId": session, "lastSeq": 3})
            for listen in (ui.event, stream.event):
                with anyio.fail_after(5):
                    frame = await listen()
                assert frame["type"] == frame["code"] == "resync_required"
                assert (frame["sessionId"], frame["lastSeq"]) == (session, 20)
            await tell(stage, session, "live")
            for listen in (ui.event, stream.event):
                with anyio.fail_after(5):
                    assert (await listen())["payload"]["content"] == "live"
        async with stage.stream(ann, session, 17) as stream:
            assert (await stream.event())["seq"] == 18


async def left_in(lazy: ClientConnection) -> AsyncIterator[int]:
    """Read what was on its way when the server gave up."""
    try:
        while True:
            yield json.loads(await lazy.recv())["seq"]
    except ConnectionClosed:
        return


async def test_who_does_not_read_is_dropped_holds_up_nobody_and_catches_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    big, count = "x" * 20_000, 1500
    async with served(ui_gateway={"drain_seconds": 0.3}) as stage:
        await stage.project()
        ann, ben = await stage.person("ann"), await stage.person("ben")
        slow, quick = await stage.open(ann), await stage.open(ben)
        async with (
            connect(
                stage.ws, additional_headers=ann.headers, proxy=None, max_queue=1, compression=None
            ) as lazy,
            stage.stream(ben, quick) as other,
        ):
            order = {"id": "1", "type": "openSession", "payload": {"sessionId": slow}}
            await lazy.send(json.dumps(order))
            for _ in range(2):
                await lazy.recv()
            await tell(stage, slow, *(big for _ in range(count)))
            await tell(stage, quick, *map(str, range(100)))
            with anyio.fail_after(5):
                assert [(await other.event())["seq"] for _ in range(100)] == list(range(1, 101))
            with anyio.fail_after(20):
                while "too slow" not in caplog.text:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
                seen = [seq async for seq in left_in(lazy)]
        assert 0 < len(seen) < count
        async with stage.stream(ann, slow, seen[-1]) as stream:
            seen += [(await stream.event())["seq"] for _ in range(count - len(seen))]
        assert seen == list(range(1, count + 1))


async def test_a_stream_nobody_reads_is_dropped_too(caplog: pytest.LogCaptureFixture) -> None:
    async with served(ui_gateway={"drain_seconds": 0.2}) as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        async with stage.stream(ann, session) as stream:
            await tell(stage, session, *("x" * 20_000 for _ in range(1500)))
            with anyio.fail_after(20):
                while "too slow" not in caplog.text:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
                with pytest.raises(httpx.RemoteProtocolError):
                    [None async for _ in stream._lines]


async def test_a_client_without_pongs_is_closed() -> None:
    async with served(server={"ping_seconds": 0.2}) as stage:
        await stage.project()
        ann = await stage.person("ann")
        host, port = stage.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        lines = [
            "GET /ws HTTP/1.1",
            f"Host: {host}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
            f"Authorization: Bearer {ann.token}",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        with anyio.fail_after(5):
            received = await reader.read()
        assert b"keepalive ping timeout" in received
        writer.close()
        await writer.wait_closed()


async def test_an_idle_stream_has_a_heartbeat() -> None:
    async with served(ui_gateway={"heartbeat_seconds": 0.05}) as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with stage.stream(ann, await stage.open(ann)) as stream:
            with anyio.fail_after(5):
                async for line in stream._lines:
                    if line == ": heartbeat":
                        break
