"""What ``aipm mcp`` imports before it answers: an agent's program waits for it."""

import json
import os
import re
import subprocess
import sys

import pytest

from benchmarks.wire.messages import HELLO


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the modules of a process that was greeted once."""
    place = tmp_path_factory.mktemp("project")
    aipm = [sys.executable, "-m", "aipm_cli"]
    subprocess.run([*aipm, "init"], cwd=place, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *aipm[1:], "mcp"],
        cwd=place,
        input=json.dumps({"jsonrpc": "2.0", "id": 1, **HELLO}) + "\n",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "aipm"
    return set(re.findall(r"^import time:.*\|\s+(\S+)$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize(
    "package",
    [
        *("aipm_agent_loop", "aipm_people_api", "aipm_runner", "aipm_web_ui", "typer", "rich"),
        *("uvicorn", "starlette", "websockets", "mcp", "jsonschema", "httpx", "urllib.request"),
    ],
)
def test_what_one_agent_has_no_use_for_is_not_imported(imported: set[str], package: str) -> None:
    assert [name for name in imported if f"{name}.".startswith(f"{package}.")] == []


def test_what_people_call_is_not_imported(imported: set[str]) -> None:
    apart = {"aipm_file_chat.people_tools"}  # its routes share the models
    tools = {name for name in imported if name.endswith((".people_tools", ".tools.people"))}
    assert tools - apart == set()


def test_the_number_of_our_own_modules_is_bounded(imported: set[str]) -> None:
    """Each costs a third of a millisecond: whoever adds some takes others out of the way."""
    ours = [name for name in imported if name.startswith("aipm_")]
    assert 100 < len(ours) < 330
