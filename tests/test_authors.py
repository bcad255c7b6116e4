"""Plugin authors: what we tell them to do works in a fresh environment, word for word."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.fresh_venv import FreshVenv
from tests.tutorial import blocks, carry_out

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> FreshVenv:
    made = FreshVenv.make(tmp_path_factory.mktemp("fresh") / "venv")
    made.install(str(REPOSITORY), cwd=REPOSITORY)
    return made


async def test_a_new_plugin_installs_passes_its_test_and_is_called(
    fresh: FreshVenv, tmp_path: Path
) -> None:
    fresh.run("aipm", "plugins", "new", "weather", cwd=tmp_path)
    fresh.run("pip", "install", "./aipm-weather", cwd=tmp_path)
    (tmp_path / "aipm.toml").write_text(
        'locale = "en"\n[plugins.weather]\ngreeting = "Moin"\n', encoding="utf-8"
    )
    fresh.run("aipm", "project", "add", "demo", cwd=tmp_path)
    added = fresh.run(
        "aipm", "agent", "add", "worker-1", "--project", "demo", "--json", cwd=tmp_path
    )
    passkey = json.loads(added)["data"]["passkey"]
    server = StdioServerParameters(command=str(fresh.root / "bin/aipm"), args=["mcp"], cwd=tmp_path)
    login = {"agent_id": "worker-1", "passkey": passkey, "project_id": "demo"}
    async with Client(server, read_timeout_seconds=30) as agent:
        opened = (await agent.call_tool("authenticate", login)).structured_content
        assert opened is not None
        token = opened["result"]["session_token"]
        arguments = {"session_token": token, "who": "worker-1"}
        said = (await agent.call_tool("weather_hello", arguments)).structured_content
    assert said is not None
    assert said["result"] == {"text": "Moin, worker-1"}  # after four commands
    fresh.run("pytest", cwd=tmp_path / "aipm-weather")


def test_an_installed_plugin_stays_off_until_it_is_named(fresh: FreshVenv, tmp_path: Path) -> None:
    fresh.install(str(REPOSITORY / "examples/aipm-clock"), cwd=tmp_path)
    (tmp_path / "aipm.toml").touch()
    listed = json.loads(fresh.run("aipm", "plugins", "list", "--json", cwd=tmp_path))["data"]
    (clock,) = [line for line in listed if line["name"] == "clock"]
    assert clock == {
        "name": "clock",
        "distribution": "aipm-clock",
        "version": "0.1.0",
        "enabled": False,
        "reason": "third-party, off until named in the settings",
    }


@pytest.mark.timeout(300)
def test_every_block_of_the_tutorial_works_in_order(
    fresh: FreshVenv, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = (REPOSITORY / "docs/plugin-tutorial.md").read_text(encoding="utf-8")
    for block in blocks(page):
        carry_out(block, tmp_path, lambda command: fresh.run(*command, cwd=tmp_path))
    clean(tmp_path / "aipm-notes", tmp_path_factory.getbasetemp() / "mypy")


def clean(plugin: Path, cache: Path) -> None:
    """What the tutorial ends with is as clean as what we write ourselves."""
    strict = ["mypy", "--strict", "--cache-dir", str(cache), "aipm_notes", "tests"]
    for command in (["ruff", "format", "--check", "--line-length=100"], ["ruff", "check"], strict):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=plugin, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_stays_under_forty_lines() -> None:
    source = (REPOSITORY / "examples/aipm-clock/aipm_clock/__init__.py").read_text("utf-8")
    assert len(source.splitlines()) < 40
