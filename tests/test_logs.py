"""What is logged: one record a line, whatever stands in it; no secrets, no contents."""

import json
import logging
from pathlib import Path

import httpx
import pytest
from aipm_cli.logs import JsonLines, Redacting, to_stderr
from aipm_devkit.program import Install
from pydantic import BaseModel, ValidationError

from tests.agents import Agent, log_in, team

FORGED = "2026-01-01T00:00:00.000Z ERROR aipm_core: forged"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
COMMANDS = ["\x1b[2J", "\x1b]0;title\x07", "\x9b2J", "\x7f", "\x08", "\u202e", "\u200b", "\x00"]
TOKEN = "aipm_st_0123456789abcdefghijklmnopqrstuvwxyz"


def record(message: str, error: BaseException | None = None, **about: object) -> logging.LogRecord:
    made = logging.LogRecord(
        "aipm_file_chat.projection", logging.ERROR, "x.py", 1, message, (), None
    )
    if error is not None:
        made.exc_info = (type(error), error, error.__traceback__)
    for name, value in about.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("form", [Redacting, JsonLines])
@pytest.mark.parametrize("mark", BREAKS + COMMANDS)
def test_nothing_in_a_message_makes_a_second_line(form: type[logging.Formatter], mark: str) -> None:
    text = form().format(record(f"first{mark}{FORGED}"))
    assert len(text.splitlines()) == 1
    assert mark not in text
    assert text.isprintable()


@pytest.mark.parametrize("mark", BREAKS + COMMANDS)
def test_nothing_in_an_exception_looks_like_a_record(mark: str) -> None:
    error = RuntimeError(f"first{mark}{FORGED}")
    head, *rest = Redacting().format(record("failed", error)).splitlines()
    assert head.endswith("aipm_file_chat.projection: failed")
    assert rest
    assert all(line.startswith("  | ") and line.isprintable() for line in rest)
    line = JsonLines().format(record("failed", error))
    assert len(line.splitlines()) == 1
    assert f"first{mark}{FORGED}" in json.loads(line)["exception"]


def test_a_json_record_says_what_is_known() -> None:
    about = {"plugin": "chatty", "incident": "inc_1"}
    full = json.loads(JsonLines().format(record("x", RuntimeError("why"), **about)))
    assert full.pop("time").endswith("Z")
    assert full == {
        "level": "error",
        "logger": "aipm_file_chat.projection",
        "message": "x",
        "plugin": "chatty",
        "incident": "inc_1",
        "exception": "RuntimeError: why",
    }
    assert json.loads(JsonLines().format(record("x")))["plugin"] == "file_chat"


@pytest.mark.parametrize("form", [Redacting, JsonLines])
def test_no_secret_and_nothing_a_caller_said_gets_through(form: type[logging.Formatter]) -> None:
    class Model(BaseModel):
        age: int

    diary = "my diary"
    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"age": diary})
    text = form().format(record(f"for {TOKEN}", caught.value))
    assert TOKEN not in text
    assert diary not in text
    assert "unable to parse string as an integer" in text


def test_other_libraries_are_heard_from_warnings_upwards(
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        to_stderr("debug")
        to_stderr("debug", "json")  # the second call replaces the first
        logging.getLogger("websockets.server").debug("< Authorization: Bearer x")
        logging.getLogger("websockets.server").warning("closed")
        logging.getLogger("aipm_core.runtime").debug("call of help: ok")
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
    told = [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()]
    assert told == ["closed", "call of help: ok"]


def test_the_most_talkative_server_tells_no_contents(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "[log]\nformat = 'json'\n")
    passkeys = team(install, "ann", "bob")
    canary = "canary-8d1f"
    with install.up("-vv") as server:
        agent = log_in(server.mcp, "ann", passkeys["ann"])
        agent.result("send_message", target_agent_id="bob", content=canary)
        agent.call("send_message", target_agent_id=canary, content=7, extra=canary)
        agent.call(f"no_such_tool\n{FORGED}")
        Agent(server.mcp, f"aipm_st_{canary}aaaaaaaaaaaaaaaa", cookie=canary).call("logout")
        httpx.post(server.mcp, content=f"{{{canary}", headers={"authorization": canary})
        httpx.get(f"{server.url}/{canary}?{canary}")
    records = [json.loads(line) for line in server.log.splitlines()]
    told = [entry["message"] for entry in records]
    assert told[0] == f"listening on {server.url}"
    assert told[-2:] == ["told to stop by SIGTERM", "stopped"]
    assert {"call of authenticate: ok", "call of send_message: ok"} <= set(told)
    assert canary not in server.log
    assert passkeys["ann"] not in server.log
    assert agent.token
    assert agent.token not in server.log


def test_a_quiet_server_says_nothing(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    with install.up() as server:
        Agent(server.mcp).call("help")
    assert server.log == ""


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("[log]\nlevel = 'loud'\n", "log.level: input should be 'debug', 'info', 'warning' or"),
        ("[log]\nformt = 'json'\n", "[log]: unknown key 'formt'; did you mean 'format'?"),
    ],
)
def test_a_mistake_in_the_settings_is_named(tmp_path: Path, toml: str, sentence: str) -> None:
    assert sentence in Install.make(tmp_path, toml).run("up", check=2).stderr
