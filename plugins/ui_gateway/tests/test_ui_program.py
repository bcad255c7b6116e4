"""The installed program: real processes, real signals, real sockets."""

import json
import signal
from pathlib import Path

import anyio
import httpx
import pytest
from aipm_devkit.program import Install, Server
from aipm_devkit.testing import running
from aipm_sessions.plugin import Sessions
from aipm_ui_gateway.api import new_message
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.plugin import UiGateway


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    made = Install.make(tmp_path_factory.mktemp("program"))
    made.run("project", "add", "p")
    made.run("agent", "add", "bot", "--project", "p")
    made.run("agent", "add", "ann", "--project", "p", "--type", "human")
    return made


def token_of(install: Install, person: str) -> str:
    return str(install.json("token", "create", "--agent", person)["token"])


async def test_everybody_is_told_when_the_server_stops_and_goes_on_after_it(
    install: Install,
) -> None:
    token = token_of(install, "ann")
    with install.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            opened = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            session = opened["sessionId"]
            headers = {"Authorization": f"Bearer {token}"}
            async with (
                httpx.AsyncClient(base_url=server.url, headers=headers) as client,
                client.stream("GET", "/events", params={"session": session}) as stream,
            ):
                lines = stream.aiter_lines()
                await anext(lines)
                server.process.send_signal(signal.SIGTERM)
                with anyio.fail_after(10):
                    rest = [line async for line in lines if line.startswith("data")]
                    assert rest == ['data: {"type":"server_stopping"}']
                    assert await ui.event() == {"type": "server_stopping"}
                    with pytest.raises(ConnectionError, match="1012"):
                        await ui.event()
                    await anyio.to_thread.run_sync(server.process.wait)
    assert server.process.returncode == 0
    async with running(Sessions, UiGateway, data_dir=install.root / ".aipm-data") as aipm:
        await aipm.runtime.events.publish(new_message(session, "while you were away"))
    with install.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            await ui.command("openSession", {"sessionId": session, "lastSeq": 0})
            with anyio.fail_after(5):
                assert (await ui.event())["payload"]["content"] == "while you were away"


async def test_an_announcement_of_another_process_reaches_everybody(install: Install) -> None:
    install.run("agent", "add", "ben", "--project", "p", "--type", "human")
    with install.up() as server:
        async with (
            connected(server.ready["ws"], token_of(install, "ann")) as one,
            connected(server.ready["ws"], token_of(install, "ben")) as two,
        ):
            await anyio.to_thread.run_sync(install.run, "announce", "まもなく停止します")
            for ui in (one, two):
                with anyio.fail_after(5):
                    frame = await ui.event()
                assert (frame["type"], frame["scope"]) == ("onSystemMessage", "system")
                assert frame["payload"] == {"content": "まもなく停止します"}


def test_an_announcement_needs_words(install: Install) -> None:
    assert "content: 空白だけ" in install.run("announce", "  ", check=2).stderr


def test_without_the_plugin_there_are_no_doors(tmp_path: Path) -> None:
    off = Install.make(
        tmp_path, "plugins.ui_gateway.enabled = false\nplugins.agent_loop.enabled = false\n"
    )
    assert "ui_gateway" in off.run("announce", "x", check=2).stderr
    with off.up() as server:
        for path in ("/ws", "/events", "/commands", "/schema/events.json"):
            assert httpx.get(server.url + path).status_code == 404


def chat(install: Install, server: Server, *args: str, check: int) -> str:
    return install.run(
        "chat", "bot", "--project", "p", "--url", server.url, *args, check=check
    ).stderr


def test_chat_says_in_one_sentence_what_is_wrong(install: Install) -> None:
    assert (
        "AIPM_UI_TOKEN is not set" in install.run("chat", "bot", "--project", "p", check=2).stderr
    )
    install.environ["AIPM_UI_TOKEN"] = "wrong"  # the module's, for the tests of this file only
    with install.up() as server:
        assert "is the token valid?" in chat(install, server, check=4)
        install.environ["MINE"] = token_of(install, "ann")
        assert "エージェント" in chat(
            install, server, "--token-env", "MINE", "--project", "q", check=3
        )
    assert "cannot be reached" in chat(install, server, check=1)


async def test_the_schema_is_published_and_describes_what_is_sent(install: Install) -> None:
    from jsonschema import Draft202012Validator

    with install.up() as server:
        async with httpx.AsyncClient() as client:
            schema = (await client.get(f"{server.url}/schema/events.json")).json()
        Draft202012Validator.check_schema(schema)
        async with connected(server.ready["ws"], token_of(install, "ann")) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            await anyio.to_thread.run_sync(install.run, "announce", "x")
            with anyio.fail_after(5):
                event = await ui.event()
        for group, frame in (("events", event), ("replies", ack)):
            Draft202012Validator({"$ref": f"#/$defs/{group}", **schema}).validate(dict(frame))
        assert json.dumps(schema).count("onNewMessage") >= 1
