"""``aipm plugins check``: every rule, broken once; and plugins that attack the check itself."""

import fcntl
import json
from pathlib import Path
from textwrap import dedent

import pytest
from aipm_devkit.conformance.runner import Check, examine
from aipm_devkit.program import Install

HEAD = """\
from aipm_core import *
from pydantic import BaseModel
class Some(Plugin):
    async def run(self, call: Call, args: NoArguments) -> Json:
        return {}
"""

# What a plugin's class says, which check notices, and what it answers.
FAULTS = {
    "unknown_hook": (
        "@hookimpl\ndef aipm_tool(self): return ()",
        "hooks",
        "aipm_tool is no hook of aipm; did you mean 'aipm_tools'?",
    ),
    "stray_marker": (
        "@hookimpl\ndef tools(self): return ()",
        "hooks",
        "tools is no hook of aipm; did you mean 'aipm_tools'?",
    ),
    "unmarked": (
        "def aipm_tools(self): return ()",
        "hooks",
        "aipm_tools lacks @hookimpl and would never be asked",
    ),
    "wrapper": (
        "@hookimpl(wrapper=True)\ndef aipm_authorizers(self): return (yield)",
        "hooks",
        "aipm_authorizers may not be a wrapper: it could drop what other plugins give",
    ),
    "asynchronous": (
        "@hookimpl\nasync def aipm_tools(self): return ()",
        "hooks",
        "aipm_tools must be a plain method; async functions go into the records",
    ),
    "arguments": (
        "@hookimpl\ndef aipm_tools(self, manager): return ()",
        "hooks",
        "aipm_tools must be a method without arguments",
    ),
    "leaky_adapter": (
        "@hookimpl(optionalhook=True)\ndef aipm_runner_adapters(self):\n"
        "    from aipm_runner.api import Launch, RunnerAdapter\n"
        "    def launch(start): return Launch(words=('x', start.token), environment={})\n"
        "    return [RunnerAdapter(name='leaky', launch=launch)]",
        "adapters",
        "adapter 'leaky': launch: the session token is on the command line",
    ),
    "fearless_adapter": (
        "@hookimpl(optionalhook=True)\ndef aipm_runner_adapters(self):\n"
        "    from aipm_runner.api import Answer, Launch, RunnerAdapter, speak_acp\n"
        "    from aipm_runner.api import private_environment as private\n"
        "    def launch(start): return Launch(words=('x',), environment=private(start))\n"
        "    def drive(start, client):\n"
        "        async def ask(tool, arguments): return Answer(allowed=True)\n"
        "        client.ask = ask\n"
        "        return speak_acp(start, client)\n"
        "    return [RunnerAdapter(name='fearless', launch=launch, drive=drive, protocol='acp')]",
        "adapters",
        "adapter 'fearless': guard: an allowed call did not run (asked: ())",
    ),
    "no_model": ("config_model = dict", "settings", "config_model is <class 'dict'>"),
    "open_settings": (
        "class C(BaseModel):\n    a: int = 1\nconfig_model = C",
        "settings",
        "C accepts unknown keys; derive it from aipm_core.PluginConfig",
    ),
    "required_setting": (
        "class C(PluginConfig):\n    key: str\nconfig_model = C",
        "settings",
        "C.key has no default: the plugin could not just start",
    ),
    "taken_setting": (
        "class C(PluginConfig):\n    enabled: bool = True\nconfig_model = C",
        "settings",
        "C.enabled is a key of aipm itself; choose another",
    ),
    "raising": (
        "def __init__(self, ctx): 1 / 0",
        "starts",
        "plugin 'raising': cannot be built: division by zero",
    ),
    "requiring": (
        "requires = (ServiceKey('oracle.truth'),)",
        "starts",
        "requiring requires oracle.truth, which no plugin of aipm provides",
    ),
    "open_arguments": (
        "class A(BaseModel):\n    x: int = 1\n"
        "@hookimpl\ndef aipm_tools(self):\n"
        "    return [Tool(name='t', run=self.run, access=Access.SESSION, arguments=self.A,"
        " description='d')]",
        "tools",
        "tool 't' accepts unknown arguments; derive them from Arguments",
    ),
    "open_schema": (
        "@hookimpl\ndef aipm_tools(self):\n"
        "    return [Tool(name='t', run=self.run, access=Access.SESSION, description='d',"
        " arguments={'additionalProperties': True})]",
        "tools",
        "tool 't' accepts unknown arguments; derive them from Arguments",
    ),
    "bad_schema": (
        "@hookimpl\ndef aipm_tools(self):\n"
        "    return [Tool(name='t', run=self.run, access=Access.SESSION, description='d',"
        " arguments={'properties': {'x': {'type': 'text'}}})]",
        "tools",
        "tool 't' has an invalid schema: 'text' is not valid under any of the given schemas",
    ),
    "contradiction": (
        "@hookimpl\ndef aipm_tools(self):\n"
        "    return [Tool(name='t', run=self.run, access=Access.SESSION, description='d',"
        " read_only=True, destructive=True)]",
        "tools",
        "tool 't' says it is read-only and destructive",
    ),
    "undescribed": (
        "@hookimpl\ndef aipm_tools(self):\n"
        "    return [Tool(name='t', run=self.run, access=Access.SESSION)]",
        "tools",
        "plugin 'undescribed': tool 't' has no description",
    ),
    "colon": (
        "@hookimpl\ndef aipm_tools(self):\n"
        "    return [Tool(name='a:t', run=self.run, access=Access.SESSION, description='d')]",
        "tools",
        "tool 'a:t' has a name that MCP clients refuse",
    ),
    "timeless": (
        "async def look(self, call): pass\n"
        "@hookimpl\ndef aipm_authorizers(self):\n"
        "    return [Authorizer(name='slow', check=self.look, deadline=float('inf'))]",
        "deadlines",
        "slow has the deadline inf s",
    ),
    "bad_sql": (
        "@hookimpl\ndef aipm_migrations(self):\n"
        "    return [Migration(name='0001', sql='create tabel x (y)')]",
        "migrations",
        'near "tabel": syntax error',
    ),
    "double_migration": (
        "@hookimpl\ndef aipm_migrations(self):\n"
        "    return [Migration(name='0001', sql='create table double_m (y)')] * 2",
        "migrations",
        "the migration '0001' is there twice",
    ),
    "taken_name": (
        "@hookimpl\ndef aipm_tools(self):\n"
        "    return [Tool(name='help', run=self.run, access=Access.ANYONE, description='d')]",
        "company",
        "tool 'help' is already offered by 'sessions'",
    ),
}


def distribution(root: Path, points: dict[str, str], sources: dict[str, str]) -> Path:
    entries = "\n".join(f'{name} = "{value}"' for name, value in points.items())
    (root / "pyproject.toml").write_text(
        f'[project]\nname = "aipm-faulty"\nversion = "1"\n[project.entry-points.aipm]\n{entries}\n',
        encoding="utf-8",
    )
    for path, text in sources.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def failures(checks: list[Check]) -> dict[str, str]:
    return {f"{c.plugin}.{c.name}".lstrip("."): c.message for c in checks if not c.ok}


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> list[Check]:
    """One distribution with all the faults: one child asks about every plugin."""
    root = tmp_path_factory.mktemp("faulty")
    points = {name: f"aipm_faulty_{name}:Some" for name in FAULTS}
    sources = {
        f"aipm_faulty_{name}.py": HEAD + "    " + body.replace("\n", "\n    ") + "\n"
        for name, (body, _, _) in FAULTS.items()
    }
    return examine(str(distribution(root, points, sources)))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_by_the_check_it_belongs_to(name: str, faults: list[Check]) -> None:
    _, check, sentence = FAULTS[name]
    found = failures(faults)
    assert sentence in found[f"{name}.{check}"]


def test_a_fault_stays_with_its_own_plugin(faults: list[Check]) -> None:
    taken = {c.name: c.ok for c in faults if c.plugin == "taken_name"}
    assert [name for name, ok in taken.items() if not ok] == ["company"]
    assert [c.ok for c in faults if c.name in {"quiet", "ends"}] == [True, True]


def test_texts_that_differ_are_named(tmp_path: Path) -> None:
    plugin = HEAD + "    pass\n"
    root = distribution(
        tmp_path,
        {name: f"aipm_text_{name}:Some" for name in ("keys", "places", "stray")},
        {
            "aipm_text_keys/__init__.py": plugin,
            "aipm_text_keys/locale/ja.toml": "a = 'あ'\nb = 'い'\n",
            "aipm_text_keys/locale/en.toml": "a = 'a'\n",
            "aipm_text_places/__init__.py": plugin,
            "aipm_text_places/locale/ja.toml": "a = '{who} さん'\n",
            "aipm_text_places/locale/en.toml": "a = '{name}'\n",
            "aipm_text_stray/__init__.py": plugin,
            "aipm_text_stray/locale/ja.toml": "tools.gone.title = '無'\n",
            "aipm_text_stray/locale/en.toml": "tools.gone.title = 'gone'\n",
        },
    )
    assert failures(examine(str(root))) == {
        "keys.texts": "the text 'b' is in locale/ja.toml only",
        "places.texts": "the text 'a' has different {places} in ja and en",
        "stray.texts": "the text 'tools.gone.title' is about a tool the plugin does not offer",
    }


@pytest.mark.parametrize(
    "statement",
    [
        "from aipm_core.runtime import Runtime",
        "from aipm_core import pipeline",
        "import aipm_core.loading.order as found",
    ],
)
def test_a_private_room_of_the_core_is_named_with_its_line(statement: str, tmp_path: Path) -> None:
    root = distribution(
        tmp_path, {"nosy": "aipm_nosy:Some"}, {"aipm_nosy.py": f"{HEAD}    pass\n{statement}\n"}
    )
    (message,) = failures(examine(str(root))).values()
    assert message.startswith("aipm_nosy.py:7 imports aipm_core.")


@pytest.mark.parametrize(
    ("source", "point", "failed"),
    [
        (None, "aipm_x:X", {"x.private_imports": "there is no package aipm_x"}),
        ("import gone_away", "aipm_x:X", {}),
        ("raise SystemExit('bye')", "aipm_x:X", {"x.importable": "cannot be imported: bye"}),
        ("X = 1", "aipm_x:X", {"x.importable": "aipm_x:X is not a Plugin class"}),
        ("X = 1", "aipm-x", {"x.entry_point": "'aipm-x' is not of the form MODULE:CLASS"}),
    ],
)
def test_what_cannot_be_imported_is_asked_no_further(
    source: str | None, point: str, failed: dict[str, str], tmp_path: Path
) -> None:
    sources = {} if source is None else {"aipm_x.py": source}
    checks = examine(str(distribution(tmp_path, {"x": point}, sources)))
    assert failed.items() <= failures(checks).items()
    assert "x.importable" in failures(checks)
    assert {c.name for c in checks}.isdisjoint({"starts", "tools"})


@pytest.mark.parametrize(
    ("source", "failed"),
    [
        (
            "import os; os._exit(7)",
            {"x.importable": "the plugin ended the process with exit code 7 here"},
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", {}),
    ],
)
def test_a_plugin_that_ends_its_process_does_not_end_the_command(
    source: str, failed: dict[str, str], tmp_path: Path
) -> None:
    root = distribution(tmp_path, {"x": "aipm_x:X"}, {"aipm_x.py": source})
    found = failures(examine(str(root)))
    assert failed.items() <= found.items()
    assert set(found) == {"x.importable", "ends"}


def test_a_plugin_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    source = dedent("""\
        import fcntl, pathlib, subprocess, sys
        lock = pathlib.Path(__file__).with_name("lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        subprocess.Popen(sleep, pass_fds=[lock.fileno()]).wait()
    """)
    root = distribution(tmp_path, {"x": "aipm_x:X"}, {"aipm_x.py": source})
    assert failures(examine(str(root), patience=8)) == {
        "x.importable": "the plugin did not end the process within 8 s here",
        "ends": "did not end the process within 8 s",
    }
    with (root / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # free only when the last process that held it is gone


def test_a_plugin_that_prints_is_told_whose_output_that_is(tmp_path: Path) -> None:
    root = distribution(
        tmp_path, {"x": "aipm_x:Some"}, {"aipm_x.py": f"print('hello')\n{HEAD}    pass\n"}
    )
    assert failures(examine(str(root))) == {
        "quiet": "it prints 'hello'; standard output belongs to the protocol of `aipm mcp`"
    }


def test_the_command_answers_with_exit_codes_and_json(tmp_path: Path) -> None:
    install = Install(tmp_path)
    install.run("plugins", "new", "weather")
    good = install.run("plugins", "check", "aipm-weather")
    assert good.stdout.endswith("15 checks passed\n")
    (tmp_path / "aipm-weather/pyproject.toml").write_text("[project", encoding="utf-8")
    bad = install.run("plugins", "check", "aipm-weather", "--json", check=1)
    first = json.loads(bad.stdout)["data"][0]
    assert (first["name"], first["ok"]) == ("declared", False)
    assert first["message"].startswith("pyproject.toml: ")
    gone = install.run("plugins", "check", "nowhere", check=3)
    assert gone.stderr == (
        "aipm: there is no directory 'nowhere' and no installed plugin of that name\n"
    )


def test_a_name_of_aipm_is_not_for_others(tmp_path: Path) -> None:
    root = distribution(tmp_path, {"tasks": "aipm_x:Some"}, {"aipm_x.py": f"{HEAD}    pass\n"})
    assert failures(examine(str(root)))["tasks.entry_point"] == (
        "the plugin name 'tasks' belongs to aipm itself; choose another"
    )


def test_checking_leaves_no_trace_in_the_directory(tmp_path: Path) -> None:
    root = distribution(tmp_path, {"x": "aipm_x:Some"}, {"aipm_x.py": f"{HEAD}    pass\n"})
    before = sorted(root.rglob("*"))
    assert failures(examine(str(root))) == {}
    assert sorted(root.rglob("*")) == before


def test_a_name_that_settings_could_not_say_is_refused(tmp_path: Path) -> None:
    root = distribution(tmp_path, {"No-Name": "aipm_x:Some"}, {"aipm_x.py": f"{HEAD}    pass\n"})
    assert failures(examine(str(root)))["No-Name.entry_point"] == (
        "the plugin name 'No-Name' is not a lower-case identifier"
    )


def test_a_class_of_another_place_is_not_what_is_checked(tmp_path: Path) -> None:
    root = distribution(tmp_path, {"x": "aipm_markers.plugin:Markers"}, {})
    found = failures(examine(str(root)))["x.importable"]
    assert found.startswith("aipm_markers.plugin:Markers was imported from ")


def test_a_directory_without_a_plugin_says_what_is_missing(tmp_path: Path) -> None:
    assert failures(examine(str(tmp_path)))["declared"].startswith("there is no pyproject.toml in")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert failures(examine(str(tmp_path)))["declared"].startswith(
        "pyproject.toml names no plugin: add [project.entry-points.aipm]"
    )


def test_an_installed_plugin_is_checked_by_its_name() -> None:
    checks = examine("clock")
    assert failures(checks) == {}
    assert {check.plugin for check in checks} >= {"clock"}
