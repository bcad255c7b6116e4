"""Who gets in: tokens, Host, Origin, limits. Everything over real sockets."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from functools import partial

import anyio
import httpx
import pytest
from aipm_sessions.administration import Administration
from aipm_sessions.api import SESSIONS
from aipm_sessions.plugin import ADMINISTRATION
from aipm_ui_gateway.api import new_message
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.testing import Person, ServedTeam, served
from aipm_ui_gateway.unauthenticated import UnauthenticatedConnections
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from aipm_core.models import Session


async def refused_upgrade(url: str, headers: dict[str, str]) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(url, additional_headers=headers, proxy=None):
            pass
    response = refused.value.response
    return response.status_code, json.loads(response.body or b"{}")["error"]["code"]


async def closing_of(url: str, *frames: object) -> tuple[list[str], int | None]:
    """Send frames without a header token; return the codes told and the close code."""
    async with connect(url, proxy=None) as socket:
        with anyio.fail_after(5):
            for frame in frames:
                await socket.send(json.dumps(frame))
            told = [json.loads(text)["code"] async for text in received(socket)]
    return told, socket.close_code


async def received(socket: ClientConnection) -> AsyncIterator[str | bytes]:
    try:
        while True:
            yield await socket.recv()
    except ConnectionClosed:
        return


async def agent_token(stage: ServedTeam) -> tuple[Session, str]:
    sessions, administration = (
        stage.runtime.services.use(SESSIONS),
        stage.runtime.services.use(ADMINISTRATION),
    )
    bot = next(agent for agent, _ in await administration.agents("p") if agent.kind == "ai")
    return await stage.runtime.store.write(lambda tx: sessions.open(tx, bot, "p", "task"))


async def test_a_bad_token_in_the_header_is_refused_before_the_upgrade() -> None:
    async with served() as stage:
        await stage.project()
        _, of_agent = await agent_token(stage)
        for header in ("Bearer wrong", "Basic abc", "Bearer", "", f"Bearer {of_agent}"):
            assert await refused_upgrade(stage.ws, {"Authorization": header}) == (
                401,
                "session_invalid",
            )
            for method, path in (("GET", "/events"), ("POST", "/commands")):
                reply = await stage.http.request(
                    method, path, headers={"Authorization": header}, json={}
                )
                assert reply.status_code == 401
        assert (await stage.http.get("/events")).json()["error"]["code"] == (
            "authentication_required"
        )


async def test_a_token_is_worth_nothing_for_who_is_no_person() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        await stage.runtime.store.write(
            lambda tx: tx.run("update agents set kind = 'ai' where id = 'ann'")
        )
        assert await refused_upgrade(stage.ws, ann.headers) == (401, "session_invalid")


async def test_the_first_frame_may_carry_the_token() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with connect(stage.ws, proxy=None) as socket:
            await socket.send(json.dumps({"type": "auth", "token": ann.token}))
            assert json.loads(await socket.recv()) == {"type": "ready"}


FIRST_FRAMES: list[tuple[object, str]] = [
    ({"type": "auth", "token": "wrong"}, "session_invalid"),
    ({"type": "auth", "token": 1}, "authentication_required"),
    ({"type": "auth"}, "authentication_required"),
    ({"id": "1", "type": "openSession", "payload": {}}, "authentication_required"),
    ([], "authentication_required"),
]


async def test_any_other_first_frame_ends_the_connection() -> None:
    async with served() as stage:
        for frame, code in FIRST_FRAMES:
            assert await closing_of(stage.ws, frame) == ([code], 4401), frame


async def test_a_connection_that_does_not_say_who_it_is_ends() -> None:
    async with served(ui_gateway={"auth_seconds": 0.05}) as stage:
        assert await closing_of(stage.ws) == (["authentication_required"], 4401)


async def test_silent_connections_cannot_take_all_places() -> None:
    """A first frame gets in however many stay silent; the oldest of them goes, and is told."""
    places = {"max_unauthenticated": 3, "max_unauthenticated_per_address": 2, "auth_seconds": 30}
    async with served(ui_gateway=places) as stage, AsyncExitStack() as silent:
        await stage.project()
        ann = await stage.person("ann")
        sockets = [
            await silent.enter_async_context(connect(stage.ws, proxy=None)) for _ in range(5)
        ]
        for lost in sockets[:3]:
            with anyio.fail_after(5):
                told = [json.loads(text)["code"] async for text in received(lost)]
            assert (told, lost.close_code) == (["too_many_connections"], 4429)
        async with connect(stage.ws, proxy=None) as socket:
            await socket.send(json.dumps({"type": "auth", "token": ann.token}))
            assert json.loads(await socket.recv()) == {"type": "ready"}
            assert await closing_of(stage.ws, []) == (["authentication_required"], 4401)
            async with connected(stage.ws, ann.token):
                pass
            await socket.ping()


def test_an_address_takes_places_from_itself_first() -> None:
    gone: list[str] = []
    unauthenticated = UnauthenticatedConnections(3, 2)
    with ExitStack() as stack:
        for name, address in (("a", "here"), ("b", "there"), ("c", "here"), ("d", "here")):
            leave = partial(gone.append, name)
            stack.enter_context(unauthenticated.slot(address, leave))
        assert gone == ["a"]
        stack.enter_context(unauthenticated.slot("elsewhere", partial(gone.append, "e")))
        assert gone == ["a", "b"]
    with unauthenticated.slot("here", partial(gone.append, "f")) as place:
        assert not place.lost
    assert gone == ["a", "b"]


async def test_a_token_in_the_address_is_refused() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        escaped = ann.token.replace("_", "%5F")
        names = ("token", "access_token", "auth", "Authorization", "api_key", "x")
        queries = [f"?{name}={ann.token}" for name in names]
        for query in (*queries, f"?session={escaped}", f"?{escaped}=1"):
            assert await refused_upgrade(stage.ws + query, ann.headers) == (400, "token_in_url")
            for method, path in (("GET", "/events"), ("POST", "/commands")):
                reply = await stage.http.request(method, path + query, headers=ann.headers, json={})
                assert reply.status_code == 400
                assert "token_in_url" in reply.text
                assert ann.token not in reply.text


@pytest.mark.parametrize("query", ["session=a&session=b", "session=a&color=red", "lastseq=1"])
async def test_an_address_says_what_it_may_and_nothing_twice(query: str) -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        reply = await stage.http.get(f"/events?{query}", headers=ann.headers)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_query")


async def test_foreign_hosts_and_origins_are_refused_before_anything_else() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        port = stage.url.rpartition(":")[2]
        for origin in ("https://evil.example", "null", f"http://127.0.0.1:{port}.evil.example"):
            status, _ = await refused_upgrade(stage.ws, {**ann.headers, "Origin": origin})
            assert status == 403
            for path in ("/events", "/schema/events.json"):
                headers = {**ann.headers, "Origin": origin}
                assert (await stage.http.get(path, headers=headers)).status_code == 403
        headers = {**ann.headers, "Host": "rebind.example"}
        assert (await stage.http.get("/events", headers=headers)).status_code == 421
        assert await raw_upgrade(int(port), "rebind.example", ann) == 421
        assert await raw_upgrade(int(port), f"127.0.0.1:{port}", ann) == 101


async def raw_upgrade(port: int, host: str, person: Person) -> int:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        lines = [
            "GET /ws HTTP/1.1",
            f"Host: {host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
            f"Authorization: Bearer {person.token}",
        ]
        await stream.send("\r\n".join([*lines, "", ""]).encode())
        return int((await stream.receive()).split()[1])


async def test_a_web_page_cannot_post_commands() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        order = '{"id":"1","type":"openSession","payload":{"projectId":"p","agentId":"bot"}}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            reply = await stage.http.post(
                "/commands", content=order, headers={**ann.headers, "Content-Type": kind}
            )
            assert (reply.status_code, reply.json()["code"]) == (415, "unsupported_media_type")
        assert await stage.runtime.store.all("select * from ui_sessions") == []


async def test_a_person_has_only_so_many_connections() -> None:
    async with served(ui_gateway={"max_connections_per_person": 2}) as stage:
        await stage.project()
        ann, ben = await stage.person("ann"), await stage.person("ben")
        session = await stage.open(ann)
        async with connected(stage.ws, ann.token), stage.stream(ann, session):
            with pytest.raises(httpx.HTTPStatusError) as refused:
                async with stage.stream(ann, session):
                    pass
            assert refused.value.response.status_code == 429
            frame = {"type": "auth", "token": ann.token}
            assert await closing_of(stage.ws, frame) == (["too_many_connections"], 4429)
            async with connected(stage.ws, ben.token):
                pass
        async with connected(stage.ws, ann.token):
            pass


async def revoke(administration: Administration) -> None:
    await administration.revoke_token(
        next(t["id"] for t in await administration.tokens() if t["agent_id"] == "ann")
    )


async def rekey(administration: Administration) -> None:
    await administration.rekey("ann")


@pytest.mark.parametrize("end", [revoke, rekey])
async def test_revoking_a_token_ends_its_open_streams_and_no_others(
    end: Callable[[Administration], Awaitable[None]],
) -> None:
    async with served() as stage:
        await stage.project()
        ann, ben = await stage.person("ann"), await stage.person("ben")
        of_ann, of_ben = await stage.open(ann), await stage.open(ben)
        async with (
            connected(stage.ws, ann.token) as ui,
            stage.stream(ann, of_ann) as stream,
            stage.stream(ben, of_ben) as other,
        ):
            await end(stage.runtime.services.use(ADMINISTRATION))
            with anyio.fail_after(5):
                with pytest.raises(ConnectionError, match="4401"):
                    await ui.event()
                with pytest.raises(StopAsyncIteration):
                    await stream.event()
                await stage.publish(new_message(of_ben, "still here"))
                assert (await other.event())["payload"]["content"] == "still here"
        reply = await stage.http.get("/events", headers=ann.headers)
        assert reply.json()["error"]["code"] == "session_invalid"
