"""What an author types: one-file plugins, --reload, trace, install, new --kind."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from aipm_devkit import scaffold
from aipm_devkit.program import AIPM, Install

from tests.agents import Agent

ONE = '''
from aipm_core import Access, Call, Json, NoArguments, Plugin, hookimpl, tool


class Tide(Plugin):
    """Tells the tide."""

    @hookimpl
    def aipm_tools(self):
        yield tool(self.tide, access=Access.ANYONE)

    async def tide(self, call: Call, args: NoArguments) -> Json:
        """Tell the tide."""
        return "low"
'''


@pytest.fixture
def install(tmp_path: Path) -> Install:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/tide.py").write_text(ONE)
    (tmp_path / "mine/_draft.py").write_text("raise ValueError")
    return Install.make(tmp_path, "locale = 'en'\n")


def test_a_file_is_a_plugin_while_its_directory_is_named(install: Install) -> None:
    with install.up("--plugin-dir", "mine") as server:
        assert Agent(server.mcp).result("tide") == "low"
    install.environ["AIPM_PLUGIN_DIR"] = str(install.root / "mine")
    (row,) = [row for row in install.json("plugins") if row["name"] == "tide"]
    assert (row["enabled"], row["reason"]) == (True, "in the directory of --plugin-dir")
    (install.root / "aipm.toml").write_text("[plugins.tide]\nenabled = false\n")
    (row,) = [row for row in install.json("plugins") if row["name"] == "tide"]
    assert not row["enabled"]
    del install.environ["AIPM_PLUGIN_DIR"]
    assert "no such plugin" in install.run("status", check=2).stderr


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("sea.py", "x = 1", "sea.py has 0 plugin classes; one is needed"),
        ("sea.py", "raise ValueError('waves')", "plugin 'sea': cannot be imported: waves"),
        ("The Sea.py", ONE, "The Sea.py: a plugin's name is of a-z, 0-9 and '_'"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(
    install: Install, file: str, text: str, sentence: str
) -> None:
    (install.root / "mine" / file).write_text(text)
    install.environ["AIPM_PLUGIN_DIR"] = "mine"
    assert sentence in install.run("status", check=2).stderr
    install.environ["AIPM_PLUGIN_DIR"] = "nowhere"
    assert "there is no directory nowhere" in install.run("status", check=2).stderr


@contextmanager
def reloading(install: Install) -> Iterator[IO[str]]:
    process = subprocess.Popen(
        [AIPM, "up", "--reload", "--plugin-dir", "mine", "--port", "0", "--json"],
        cwd=install.root,
        env=install.env(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout
    finally:
        process.terminate()
        process.communicate(timeout=40)
    assert process.returncode == 0


def test_reload_starts_again_when_a_plugin_changes_and_when_it_is_mended(install: Install) -> None:
    file = install.root / "mine/tide.py"
    with reloading(install) as told:
        assert Agent(json.loads(told.readline())["mcp"]).result("tide") == "low"
        file.write_text(ONE + "raise ValueError('half written')\n")  # does not start; no line
        file.write_text(ONE.replace('"low"', '"high water"'))
        assert Agent(json.loads(told.readline())["mcp"]).result("tide") == "high water"


def test_trace_tells_what_of_whom_ran(install: Install) -> None:
    install.environ["AIPM_PLUGIN_DIR"] = "mine"
    steps = install.json("plugins", "trace", "tide", "--plugin", "tide")
    done = [step["what"] for step in steps]
    assert {"import", "aipm_tools", "tool tide"} <= set(done)
    assert all(step["milliseconds"] >= 0 for step in steps)
    every = install.json("plugins", "trace", "tide")
    assert {"sessions", "tide"} <= {step["plugin"] for step in every}
    assert "lifespan retention" in {step["what"] for step in every}
    assert "ms in" in install.run("plugins", "trace").stdout
    assert "is not a JSON object" in install.run("plugins", "trace", "tide", "--arguments", "x",
                                                 check=2).stderr  # fmt: skip


def run(*command: str, cwd: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["view", "adapter", "provider", "webhook"])
def test_every_kind_is_clean_and_passes_its_test_and_the_check(kind: str, tmp_path: Path) -> None:
    made = Install(tmp_path).json("plugins", "new", "my-tide", "--kind", kind)
    target = Path(made["directory"])
    run("ruff", "format", "--check", ".", cwd=target)
    run("ruff", "check", ".", cwd=target)
    run("pytest", cwd=target)
    checks = Install(tmp_path).json("plugins", "check", str(target))
    assert [check for check in checks if not check["ok"]] == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["view", "adapter", "provider", "webhook"])
def test_every_kind_has_types(kind: str, tmp_path: Path) -> None:
    target = scaffold.write_plugin("my-tide", tmp_path, kind).directory
    run("mypy", cwd=target)


def test_an_unknown_kind_is_a_sentence(tmp_path: Path) -> None:
    said = Install(tmp_path).run("plugins", "new", "x", "--kind", "moon", check=2).stderr
    assert "moon" in said
    assert len(said.splitlines()) == 1


def test_install_refuses_what_names_nothing(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    said = install.run("plugins", "install", "--", "--index-url=http://evil", check=2).stderr
    assert "names nothing to install" in said
    said = install.run("plugins", "install", "./nowhere", check=2).stderr
    assert "./nowhere was not installed" in said
    assert len(said.splitlines()) == 1


def test_install_brings_a_plugin_that_stays_off(tmp_path: Path) -> None:
    """Into a place of its own, so that this environment stays as it is; without a network."""
    site = str(tmp_path / "site")
    install = Install.make(tmp_path / "home")
    target = scaffold.write_plugin("my-tide", tmp_path).directory
    place = {"PIP_TARGET": site, "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    install.environ |= {"PYTHONPATH": site, "PIP_NO_INDEX": "1", **place}
    install.environ["PYTHONWARNINGS"] = "default"  # pip's own are not ours
    assert install.json("plugins", "install", str(target))["plugins"] == ["my_tide"]
    (row,) = [row for row in install.json("plugins") if row["name"] == "my_tide"]
    assert not row["enabled"]
