"""No token or passkey in any file, log, error or event."""

from pathlib import Path

import pytest
from aipm_cli.logs import Redacting
from aipm_devkit.program import Install
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions

from aipm_core import Access, Call, Json, NoArguments, Plugin, hookimpl, tool
from aipm_core.redaction import redact


def bytes_below(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_redaction_finds_every_kind_of_secret() -> None:
    for kind in ("pk", "st", "ui"):
        secret = f"aipm_{kind}_0123456789abcdefghijklmnopqrstuvwxyz-_0123"
        assert redact(f"x {secret} y") == "x aipm_[redacted] y"


def test_nothing_secret_stays_on_disk_after_the_command_line_ran(tmp_path: Path) -> None:
    install = Install(tmp_path)
    install.run("init")
    install.run("project", "add", "p", "--dir", "work")
    passkey = install.json("agent", "add", "anna", "--project", "p", "--type", "human")["passkey"]
    token = install.json("token", "create", "--agent", "anna")["token"]
    everything = bytes_below(tmp_path)
    assert passkey.encode() not in everything
    assert token.encode() not in everything


class Leaky(Plugin):
    """Raises with the caller's token in its message."""

    @hookimpl
    def aipm_tools(self) -> list[object]:
        return [tool(self.leak, access=Access.SESSION)]

    async def leak(self, call: Call, args: NoArguments) -> Json:
        """Leak."""
        raise RuntimeError(f"failed with {call.request.arguments['session_token']}")


async def test_a_token_reaches_neither_store_nor_reply_nor_formatted_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(Sessions, Leaky, data_dir=tmp_path) as aipm:
        administration = aipm.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "P", None)
        _, passkey = await administration.add_agent(
            "a", project_id="p", name="A", kind="ai", role="worker", parent=None
        )
        login = {"agent_id": "a", "passkey": passkey, "project_id": "p"}
        token = (await aipm.call("authenticate", None, **login)).result["session_token"]
        reply = await aipm.call("leak", None, session_token=token)
        wrong = await aipm.call("authenticate", None, **{**login, "passkey": passkey + "x"})
    assert reply.error is not None
    assert token not in str(reply)
    assert passkey not in str(wrong)
    stored = bytes_below(tmp_path)
    assert token.encode() not in stored
    assert passkey.encode() not in stored
    formatter = Redacting()
    log = "\n".join(formatter.format(record) for record in caplog.records)
    assert "failed with aipm_[redacted]" in log
    assert token not in log
