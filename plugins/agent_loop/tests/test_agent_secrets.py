"""No passkey or token that the agent in the server is told, reads or says is kept or shown."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import pytest
from aipm_agent_loop.api import (
    ModelProvider,
    Part,
    Prompt,
    Text,
    TextDelta,
    ToolCall,
    UserMessage,
)
from aipm_agent_loop.redaction import redact_json, settled
from aipm_agent_loop.testing import talking
from aipm_sessions.plugin import ADMINISTRATION

from aipm_core import Access, AnyTool, Call, Json, NoArguments, Plugin, hookimpl, new_id, tool
from aipm_core.redaction import redact

SECRETS = [f"aipm_{kind}_{'Kanarienvogel' * 2}{kind}" for kind in ("pk", "st", "ui")]


class Gossip(Plugin):
    """A provider that says a secret in every way there is, and a tool that answers with one."""

    secret = ""

    @hookimpl
    def aipm_model_providers(self) -> Iterable[ModelProvider]:
        yield ModelProvider(name="gossip", make=lambda: self)

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Part]:
        """Say it whole, letter by letter, and in calls."""
        if not isinstance(prompt.messages[-1], UserMessage):
            yield Text("done")
            return
        secret = self.secret
        yield Text(f"whole: {secret}")
        for piece in ("it is ", *secret, ", and ", secret, "."):
            yield TextDelta(piece)
        for name, args in (
            ("file:read", {"path": "notes.txt"}),
            ("file:read", {"path": secret, secret: [secret]}),
            (secret, {}),
            ("tell", {}),
        ):
            yield ToolCall(id=new_id("call"), name=name, args=args)

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer a tool that tells secrets."""
        yield tool(self.tell, access=Access.SESSION)

    async def tell(self, call: Call, args: NoArguments) -> Json:
        """Tell secrets."""
        return {"secrets": SECRETS, SECRETS[0]: "a name"}


def everything(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


async def test_a_passkey_told_to_the_agent_opens_nothing_and_is_kept_nowhere(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    async with talking(tmp_path, data_dir=data) as talk:
        administration = talk.stage.runtime.services.use(ADMINISTRATION)
        common: dict[str, Any] = {"project_id": "p", "role": "worker", "parent": None}
        _, passkey = await administration.add_agent("eve", name="eve", kind="ai", **common)
        login = {"agent_id": "eve", "passkey": passkey, "project_id": "p"}
        await talk.say(f"!call authenticate {json.dumps(login)}")
        events = await talk.turn()
        opened = await talk.stage.runtime.store.all("select * from sessions")
    assert "tool_not_found" in json.dumps(events)
    assert opened == []
    for place in (json.dumps(events).encode(), everything(data)):
        assert passkey.encode() not in place
        assert b"aipm_st_" not in place


@pytest.mark.parametrize("secret", SECRETS)
async def test_secrets_reach_neither_the_store_nor_the_screen(tmp_path: Path, secret: str) -> None:
    data = tmp_path / "data"
    loop = {"provider": "gossip"}
    async with talking(tmp_path, Gossip, data_dir=data, agent_loop=loop) as talk:
        (tmp_path / "project" / "notes.txt").write_text(f"key = {secret}\n")
        model = talk.stage.runtime.manager.get_plugin("gossip")
        assert isinstance(model, Gossip)
        model.secret = secret
        await talk.say(f"my key is {secret}")
        events = await talk.turn()
    said = [e["payload"]["content"] for e in events if e["type"] == "onNewMessage"]
    assert said[:2] == ["whole: aipm_[redacted]", "it is aipm_[redacted], and aipm_[redacted]."]
    told = "".join(e["payload"]["delta"] for e in events if e["type"] == "onMessageDelta")
    assert told == said[1]
    assert "key = aipm_[redacted]" in json.dumps(events)
    assert secret not in json.dumps(events)
    assert secret.encode() not in everything(data)


def test_a_text_that_grows_is_told_as_far_as_it_is_no_secret() -> None:
    assert redact_json({SECRETS[0]: [SECRETS[1], 1, None]}) == {
        "aipm_[redacted]": ["aipm_[redacted]", 1, None]
    }
    for text in ("", "plain", "a b", "see aipm-runtime", "xaipm_ y"):
        assert text[: settled(text)] == text
    for length in range(1, len(SECRETS[0]) + 1):
        begun = f"it is {SECRETS[0][:length]}"
        assert begun[: settled(begun)] == "it is "
    assert settled("x" * 1_000_000 + "aipm_" * 200_000 + "!") == 2_000_001
    assert redact(SECRETS[2]) == "aipm_[redacted]"
