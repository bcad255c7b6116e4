"""Commands: acknowledged, typed, and carried out once."""

import base64
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import pytest
from aipm_sessions.api import Agent
from aipm_ui_gateway.api import (
    ProvideConfirmation,
    SubmitUserInput,
    UiSession,
    agent_state,
    new_message,
)
from aipm_ui_gateway.client.renderer import Renderer
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.event_payloads import SystemMessage
from aipm_ui_gateway.event_types import session_event
from aipm_ui_gateway.testing import Person, ServedTeam, command, served
from websockets.asyncio.client import connect

from aipm_core import AnyTool, CallError, Json, Plugin, Tx, hookimpl
from aipm_core.errors import PluginError


class Parrot(Plugin):
    """Answers every input with itself."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield command(self.ctx, "submitUserInput", SubmitUserInput, self.hear)
        yield command(self.ctx, "provideConfirmation", ProvideConfirmation, self.judge)

    async def hear(
        self, tx: Tx, person: Agent, session: UiSession | None, payload: SubmitUserInput
    ) -> Mapping[str, Json]:
        assert session is not None
        for event in (
            agent_state(session.id, "thinking"),
            new_message(session.id, f"echo: {payload.text}"),
            agent_state(session.id, "waiting_for_input"),
        ):
            await self.ctx.events.record(tx, event)
        if payload.text == "boom":
            raise RuntimeError("secret detail")
        return {"runId": secrets.token_hex(4)}

    async def judge(
        self, tx: Tx, person: Agent, session: UiSession | None, payload: ProvideConfirmation
    ) -> Mapping[str, Json]:
        assert session is None
        raise CallError("no", code="confirmation_not_found", status=404)


async def messages(stage: ServedTeam) -> int:
    row = await stage.runtime.store.one(
        "select count(*) as n from events where type = 'onNewMessage'"
    )
    assert row is not None
    return int(row["n"])


async def test_the_same_command_twice_has_one_effect_and_the_same_ack(tmp_path: Path) -> None:
    async with served(Parrot, data_dir=tmp_path) as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        payload = {"sessionId": session, "text": "hi"}
        async with connected(stage.ws, ann.token) as one, connected(stage.ws, ann.token) as two:
            acks = [await one.command("submitUserInput", payload, id="same")]
            acks.append(await two.command("submitUserInput", payload, id="same"))
        order = {"id": "same", "type": "submitUserInput", "payload": payload}
        reply = await stage.http.post("/commands", json=order, headers=ann.headers)
        acks.append(reply.json())
        other = {**order, "payload": {"sessionId": session, "text": "else"}}
        reply = await stage.http.post("/commands", json=other, headers=ann.headers)
        assert (reply.status_code, reply.json()["code"]) == (409, "command_id_reused")
        assert await messages(stage) == 1
    async with served(Parrot, data_dir=tmp_path) as stage:
        reply = await stage.http.post("/commands", json=order, headers=ann.headers)
        acks.append(reply.json())
        assert acks == [acks[0]] * 4
        assert acks[0]["runId"]
        assert await messages(stage) == 1


async def test_a_hundred_repetitions_at_once_have_one_effect() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        payload = {"sessionId": await stage.open(ann), "text": "hi"}
        order = {"id": "same", "type": "submitUserInput", "payload": payload}
        acks: list[Json] = []

        async def send() -> None:
            reply = await stage.http.post("/commands", json=order, headers=ann.headers)
            acks.append(reply.json())

        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(send)
        assert acks == [acks[0]] * 100
        assert await messages(stage) == 1


async def test_command_ids_belong_to_their_person() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        sessions = []
        for person in (await stage.person("ann"), await stage.person("ben")):
            async with connected(stage.ws, person.token) as ui:
                ack = await ui.command(
                    "openSession", {"projectId": "p", "agentId": "bot"}, id="first"
                )
                sessions.append(ack["sessionId"])
        assert len(set(sessions)) == 2


async def test_opening_twice_with_one_id_attaches_again_after_a_lost_ack() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        payload = {"projectId": "p", "agentId": "bot"}
        async with connected(stage.ws, ann.token) as ui:
            first = await ui.command("openSession", payload, id="open")
        await stage.publish(new_message(first["sessionId"], "missed"))
        async with connected(stage.ws, ann.token) as ui:
            assert await ui.command("openSession", payload, id="open") == first
            with anyio.fail_after(5):
                assert (await ui.event())["payload"]["content"] == "missed"


async def test_the_session_may_be_left_out_when_there_is_only_one() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with connected(stage.ws, ann.token) as ui:
            with pytest.raises(CallError) as none_yet:
                await ui.command("submitUserInput", {"text": "hi"})
            opened = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            await ui.command("submitUserInput", {"text": "hi"})
            with anyio.fail_after(5):
                events = [await ui.event() for _ in range(3)]
            assert [e["payload"].get("state", e["payload"].get("content")) for e in events] == [
                "thinking",
                "echo: hi",
                "waiting_for_input",
            ]
            assert {e["payload"]["sessionId"] for e in events} == {opened["sessionId"]}
            await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            with pytest.raises(CallError) as two_now:
                await ui.command("submitUserInput", {"text": "which?"})
        assert none_yet.value.code == two_now.value.code == "session_required"
        assert (await stage.post(ann, "submitUserInput", text="hi"))["code"] == "session_required"


WRONG: list[tuple[Json, str]] = [
    ({"id": "1", "type": "fly", "payload": {}}, "unknown_command"),
    ({"id": "1", "type": "cancelRun", "payload": {}}, "command_unavailable"),
    ({"type": "openSession", "payload": {}}, "invalid_arguments"),
    ({"id": 1, "type": "openSession", "payload": {}}, "invalid_arguments"),
    ({"id": "", "type": "openSession", "payload": {}}, "invalid_arguments"),
    ({"id": "x" * 129, "type": "openSession", "payload": {}}, "invalid_arguments"),
    ({"id": "1", "type": "openSession", "payload": []}, "invalid_arguments"),
    ({"id": "1", "type": "openSession", "payload": {}, "role": "admin"}, "invalid_arguments"),
    ({"id": "1", "type": "openSession", "payload": {}}, "invalid_arguments"),
    ({"id": "1", "type": "openSession", "payload": {"projectId": "p"}}, "invalid_arguments"),
    (
        {"id": "1", "type": "openSession", "payload": {"sessionId": "x", "lastSeq": -1}},
        "invalid_arguments",
    ),
    ({"id": "1", "type": "submitUserInput", "payload": {"text": 5}}, "invalid_arguments"),
    ({"id": "1", "type": "submitUserInput", "payload": {}}, "invalid_arguments"),
    ({"id": "1", "type": "submitUserInput", "payload": {"text": " "}}, "content_empty"),
    (
        {
            "id": "1",
            "type": "provideConfirmation",
            "payload": {"confirmationId": "x", "approved": "yes"},
        },
        "invalid_arguments",
    ),
    ("hello", "invalid_arguments"),
    (None, "invalid_arguments"),
]


async def test_a_wrong_command_gets_a_typed_error_on_every_transport() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        headers = {**ann.headers, "Content-Type": "application/json"}
        async with connect(stage.ws, additional_headers=ann.headers, proxy=None) as socket:
            await socket.recv()
            for order, code in WRONG:
                await socket.send(json.dumps(order))
                reply = json.loads(await socket.recv())
                assert set(reply) == {"type", "id", "code", "message"}
                assert (reply["type"], reply["code"]) == ("error", code), order
                posted = await stage.http.post(
                    "/commands", content=json.dumps(order), headers=headers
                )
                assert posted.json() == reply
                assert posted.is_client_error


FRAMES: list[tuple[str | bytes, str]] = [
    ("{", "invalid_frame"),
    (b"{}", "invalid_frame"),
    ('{"id":"1","id":"2","type":"x"}', "invalid_frame"),
    ("[" * 2000, "invalid_frame"),
    ('{"id":"\\ud800","type":"x"}', "invalid_frame"),
    ('{"id":"1","type":"x","payload":{"n":NaN}}', "invalid_frame"),
    ('"' + "x" * 2047 + '"', "payload_too_large"),
    ('"' + "x" * 2046 + '"', "invalid_arguments"),
]


async def test_unreadable_frames_get_an_error_and_the_connection_goes_on() -> None:
    async with served(Parrot, ui_gateway={"max_frame_bytes": 2048}) as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with connect(stage.ws, additional_headers=ann.headers, proxy=None) as socket:
            await socket.recv()
            for frame, code in FRAMES:
                await socket.send(frame)
                assert json.loads(await socket.recv())["code"] == code
            await socket.send('{"id":"9","type":"fly"}')
            assert json.loads(await socket.recv())["id"] == "9"


async def test_a_body_that_is_too_large_or_unreadable_is_refused() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        headers = {**ann.headers, "Content-Type": "application/json"}
        large = await stage.http.post("/commands", content=b" " * 1_048_577, headers=headers)
        assert large.status_code == 413
        for body in (b"\xff", b'{"id":"1","id":"1"}', b""):
            reply = await stage.http.post("/commands", content=body, headers=headers)
            assert (reply.status_code, reply.json()["code"]) == (400, "invalid_frame")


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 32).decode()


ATTACHMENTS: list[tuple[Json, str | None]] = [
    ({"type": "image", "data": PNG}, None),
    ({"type": "image", "data": PNG, "mimeType": "image/png"}, None),
    ({"type": "image", "data": "not base64!"}, "invalid_attachment"),
    ({"type": "image", "data": ""}, "invalid_attachment"),
    ({"type": "image", "data": PNG, "mimeType": "text/html"}, "unsupported_type"),
    ({"type": "video", "data": PNG}, "unsupported_type"),
    ({"type": "image"}, "invalid_arguments"),
]


async def test_attachments_are_checked() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        given = {"sessionId": await stage.open(ann), "text": "look"}
        for attachment, code in ATTACHMENTS:
            reply = await stage.post(ann, "submitUserInput", **given, attachments=[attachment])
            assert reply.get("code") == code, attachment


REFUSED: tuple[tuple[str, dict[str, Json], str], ...] = (
    ("openSession", {}, "projectId と agentId、または sessionId（lastSeq は任意）"),
    ("openSession", {"projectId": "p", "agentId": "bot", "lastSeq": 1}, "lastSeq は指定できません"),
    ("openSession", {"sessionId": 5}, "sessionId: 文字列を指定してください"),
    ("submitUserInput", {}, "text: 必須です"),
    ("submitUserInput", {"text": " "}, "text が空です"),
    ("submitUserInput", {"text": "x", "more": 1}, "more: この名前の引数はありません"),
    (
        "submitUserInput",
        {"text": "x", "attachments": [{"type": "image", "data": "!"}]},
        "attachments.0: data が base64 ではありません",
    ),
    (
        "submitUserInput",
        {"text": "x", "attachments": [{"type": "audio", "data": "aGk="}]},
        "attachments.0.type: 添付できるのは画像だけです",
    ),
    ("provideConfirmation", {"confirmationId": "c", "approved": 1}, "approved: true または false"),
)


@pytest.mark.parametrize(("type_", "payload", "words"), REFUSED)
async def test_refusals_are_in_the_language_of_the_settings(
    type_: str, payload: dict[str, Json], words: str
) -> None:
    async with served(Parrot) as stage:
        await stage.project()
        reply = await stage.post(await stage.person("ann"), type_, **payload)
        assert words in reply["message"]


async def test_a_refused_command_leaves_nothing() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        reply = await stage.post(ann, "provideConfirmation", confirmationId="c", approved=True)
        assert reply["code"] == "confirmation_not_found"
        assert await stage.runtime.store.all("select * from person_calls") == []


async def test_a_handler_that_breaks_tells_an_incident_and_undoes_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        reply = await stage.post(ann, "submitUserInput", sessionId=session, text="boom")
        assert reply["code"] == "internal_error"
        assert "secret detail" not in json.dumps(reply)
        assert await messages(stage) == 0
        incident = re.search("inc_[0-9a-f]{12}", reply["message"])
        assert incident is not None
        assert incident[0] in caplog.text


async def flood(stage: ServedTeam, person: Person, count: int) -> list[str]:
    async with connect(stage.ws, additional_headers=person.headers, proxy=None) as socket:
        await socket.recv()
        for _ in range(count):
            await socket.send('{"id":"1","type":"fly"}')
        return [json.loads(await socket.recv())["code"] for _ in range(count)]


async def test_a_flood_of_commands_is_slowed_down_for_its_sender_only() -> None:
    async with served(ui_gateway={"commands_per_second": 2}) as stage:
        await stage.project()
        ann, ben = await stage.person("ann"), await stage.person("ben")
        codes = await flood(stage, ann, 100)
        assert codes[:10] == ["unknown_command"] * 10
        assert codes.count("rate_limited") >= 80
        assert await flood(stage, ben, 5) == ["unknown_command"] * 5


async def test_a_session_is_attached_to_again_from_another_place() -> None:
    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with connected(stage.ws, ann.token) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            place = {"sessionId": ack["sessionId"]}
            await ui.command("submitUserInput", {**place, "text": "a"})
            with anyio.fail_after(10):
                first = [(await ui.event())["seq"] for _ in range(3)]
                await ui.command("openSession", {**place, "lastSeq": 1})
                again = [(await ui.event())["seq"] for _ in range(2)]
            assert (first, again) == ([1, 2, 3], [2, 3])


async def test_a_new_session_has_no_place_yet() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        wanted = {"projectId": "p", "agentId": "bot", "lastSeq": 1}
        reply = await stage.post(ann, "openSession", **wanted)
        assert (reply["type"], reply["code"]) == ("error", "invalid_arguments")
        assert "新しいセッションに lastSeq" in reply["message"]


async def test_a_command_is_handled_by_one_plugin() -> None:
    class Second(Parrot):
        pass

    with pytest.raises(PluginError, match="tool 'submitUserInput' is already offered by 'parrot'"):
        async with served(Parrot, Second):
            pass


async def test_who_takes_a_command_of_the_gateway_is_at_fault_though_built_first() -> None:
    class Aaa(Parrot):
        @hookimpl
        def aipm_tools(self) -> Iterable[AnyTool]:
            yield command(self.ctx, "openSession", SubmitUserInput, self.hear)

    with pytest.raises(PluginError, match="plugin 'aaa': tool 'openSession' is already off"):
        async with served(Aaa):
            pass
    async with served(Aaa, aaa={"optional": True}) as stage:
        await stage.project()
        assert await stage.open(await stage.person("ann"))


def test_what_is_for_everybody_has_no_session() -> None:
    with pytest.raises(ValueError, match="onSystemMessage is for everybody"):
        session_event("s", SystemMessage(content="hello"))


async def test_a_body_may_come_in_pieces_but_not_stop_half_way() -> None:
    async def pieces(text: bytes) -> AsyncIterator[bytes]:
        for place in range(0, len(text), 7):
            yield text[place : place + 7]
            await anyio.lowlevel.checkpoint()

    async with served(Parrot) as stage:
        await stage.project()
        ann = await stage.person("ann")
        order = {"id": "1", "type": "openSession", "payload": {"projectId": "p", "agentId": "bot"}}
        body = json.dumps(order).encode()
        headers = {**ann.headers, "content-type": "application/json"}
        reply = await stage.http.post("/commands", content=pieces(body), headers=headers)
        assert reply.json()["type"] == "ack"
        address = urlsplit(stage.url)
        head = (
            f"POST /commands HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 1000\r\n"
            f"Content-Type: application/json\r\nAuthorization: Bearer {ann.token}\r\n\r\n"
        )
        async with await anyio.connect_tcp("127.0.0.1", address.port or 0) as half:
            await half.send(head.encode() + body[:20])
        assert (await stage.post(ann, "openSession", projectId="p", agentId="bot"))["type"] == "ack"
        row = await stage.runtime.store.one("select count(*) as n from ui_sessions")
        assert row is not None
        assert row["n"] == 2


DRAWN: list[tuple[str, Json, str]] = [
    ("onError", {"code": "boom", "message": "it broke"}, "error │ boom: it broke"),
    ("onSystemMessage", {"content": "tea"}, "everybody │ tea"),
    ("onAgentStateChange", {"state": "executing_tool"}, "…"),
    ("onAgentStateChange", {"state": "thinking"}, ""),
    ("onSomethingNew", {}, ""),
]


@pytest.mark.parametrize(("kind", "payload", "drawn"), DRAWN)
def test_events_are_drawn_for_people_and_passed_on_to_machines(
    kind: str, payload: Json, drawn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = {"type": kind, "payload": payload}
    Renderer("bot", as_json=False).show(frame)
    assert capsys.readouterr().out.strip() == drawn
    machine = Renderer("bot", as_json=True)
    machine.show(frame)
    machine.tell("nothing for machines")
    assert json.loads(capsys.readouterr().out) == frame
