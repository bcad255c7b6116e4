"""The hostile table, row by row, in one server: others are served, the plugin is named.

What happens before there is a server (imports, constructors, hooks, names, migrations) is in
``test_hostile_plugins.py`` and ``test_not_enabled.py``, units are in ``test_units.py``, sinks in
``test_event_sinks.py``. ``benchmarks/hostile.py`` prints how long others wait meanwhile.
"""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Install, Server

from tests.agents import Agent
from tests.distributions import on_path, write_distribution
from tests.hostile_rows import HEAD, SOURCE

SETTINGS = "[log]\nformat = 'json'\n"
# The tool, how it ends, what the log says under the plugin's name.
ROWS: dict[str, tuple[str | None, str]] = {
    "sleeps": (None, "sleeps has held up the event loop for 0.5 s"),
    "queries": (None, ""),
    "spins": (None, ""),
    "swallows": ("internal_error", "swallows did not finish within 1.0 s"),
    "floods": (None, ""),
    "prints": (None, ""),
    "exhausts": ("internal_error", "exhausts failed"),
    "recurses": ("internal_error", "recurses failed"),
    "garbage": ("internal_error", "garbage returned what is not JSON"),
    "huge": ("internal_error", "huge returned 100000002 bytes"),
    "commits": ("internal_error", "commits failed"),
    "changed": (None, ""),
}


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    root = tmp_path_factory.mktemp("hostile")
    points = {"hostile": "aipm_hostile:Hostile"}
    write_distribution(root / "site", "hostile", HEAD + SOURCE, plugins=points)
    made = Install.make(root / "home", SETTINGS + "[plugins.hostile]\n")
    return on_path(made, root / "site")


@contextmanager
def victim(server: Server) -> Iterator[list[Any]]:
    """Call without end while the block runs; in the end every call must have been answered."""
    answers: list[Any] = []
    over = threading.Event()

    def call() -> None:
        agent = Agent(server.mcp)
        while not over.is_set():
            answers.append(agent.call("help"))

    with ThreadPoolExecutor(1) as pool:
        calling = pool.submit(call)
        try:
            yield answers
        finally:
            over.set()
        calling.result()


def test_every_row_leaves_others_alone_and_names_the_plugin(install: Install) -> None:
    with install.up() as server:
        agent = Agent(server.mcp)
        ended: dict[str, str | None] = {}
        with victim(server) as answers:
            for name in ROWS:
                ended[name] = agent.call(name).get("error", {}).get("code")
            for how in ("middleware blocks", "middleware hangs"):
                agent.result("arms", text=how)
                assert agent.result("nothing") == "done"
        assert len(answers) > len(ROWS)
        assert all("result" in answer for answer in answers)
        assert agent.result("leaks") > 100
        after_it_gave_them_back(agent)
    assert server.process.returncode == 0
    assert ended == {name: code for name, (code, _) in ROWS.items()}
    check_log(server.log)
    assert "\ngarbage\n" in server.log  # and not on stdout, where machines read


def after_it_gave_them_back(agent: Agent) -> None:
    """Without files nobody can connect: that a plugin can do. The server goes on behind it."""
    for _ in range(10_000):
        try:
            assert agent.result("help")
        except OSError:
            continue
        return
    raise AssertionError("the server did not recover")


def check_log(log: str) -> None:
    records = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    named = [record["message"] for record in records if record.get("plugin") == "hostile"]
    wanted = [sentence for _, sentence in ROWS.values() if sentence]
    wanted += ["slow_reply has held up the event loop", "slow_reply did not finish within 0.5 s"]
    for sentence in wanted:
        assert [m for m in named if f"plugin hostile: {sentence}" in m], (sentence, named)
    faults = [record for record in records if record["level"] in ("error", "critical")]
    assert [record for record in faults if record.get("plugin") != "hostile"] == []


def test_nothing_is_left_when_it_is_switched_off(install: Install, tmp_path: Path) -> None:
    with install.up():
        pass  # it was on once
    plain = Install.make(tmp_path / "plain", SETTINGS)
    (install.root / "aipm.toml").write_text(SETTINGS)
    with plain.up() as one, install.up() as other:
        assert tools(one) == tools(other)
        assert "error" in Agent(other.mcp).call("sleeps")
    assert one.log == other.log == ""


def tools(server: Server) -> Any:
    return Agent(server.mcp).result("help")
