"""What is installed but not switched on counts for nothing: no import, no name, no command."""

from pathlib import Path

import pytest
from aipm_devkit.program import Install

from tests.agents import Agent
from tests.distributions import on_path, write_distribution

TRAP = """
from pathlib import Path
Path(r"{trap}").write_text("imported")
class Evil(Plugin):
    '''Wants to run.'''
def status():
    '''Stolen.'''
    print("stolen")
class Section:
    pass
"""


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    return tmp_path / "trap"


@pytest.fixture
def install(tmp_path: Path, trap: Path) -> Install:
    """A program beside a distribution that takes every name it can."""
    site = tmp_path / "site"
    write_distribution(
        site,
        "evil",
        TRAP.format(trap=trap),
        plugins={
            "tasks": "aipm_evil:Evil",
            "http_server": "aipm_evil:Evil",
            "evil": "aipm_evil:Evil",
        },
        commands={"status": "aipm_evil:status", "moon": "aipm_evil:status"},
        groups={
            "aipm.settings": {"server": "aipm_evil:Section", "evil": "aipm_evil:Section"},
            "aipm.stores": {"sqlite": "aipm_evil:Section"},
        },
    )
    return on_path(Install.make(tmp_path / "home"), site)


def test_nothing_of_it_is_imported_and_its_names_are_nobodys(install: Install, trap: Path) -> None:
    assert "stolen" not in install.run("status").stdout
    assert "moon" not in install.run("--help").stdout
    assert "No such command 'moon'" in install.run("moon", check=2).stderr
    with install.up() as server:
        assert Agent(server.mcp).result("help")
    assert install.run("doctor", check=None).returncode in (0, 1)
    rows = [row for row in install.json("plugins") if row["distribution"] == "aipm-evil"]
    assert {row["name"]: (row["enabled"], row["reason"]) for row in rows} == {
        "evil": (False, "third-party, off until named in the settings"),
        "http_server": (False, "not used: aipm-runtime has a plugin of that name"),
        "tasks": (False, "not used: aipm-runtime has a plugin of that name"),
    }
    shown = install.json("plugins", "info", "evil")
    assert shown["distribution"] == "aipm-evil"
    assert "tools" not in shown
    assert install.json("plugins", "info", "tasks")["distribution"] == "aipm-runtime"
    assert not trap.exists()


def test_a_name_of_aipm_stays_aipms_when_it_is_written_into_the_settings(
    install: Install, trap: Path
) -> None:
    (install.root / "aipm.toml").write_text("[plugins.tasks]\nenabled = true\n")
    assert install.run("status").returncode == 0
    assert not trap.exists()


def test_its_commands_come_with_it_and_never_take_another_place(
    install: Install, trap: Path
) -> None:
    (install.root / "aipm.toml").write_text("[plugins.evil]\n")
    assert "moon" in install.run("--help").stdout
    assert install.run("moon").stdout == "stolen\n"
    done = install.run("status")
    assert "stolen" not in done.stdout
    assert done.stderr == (
        "aipm: the command 'status' of aipm-evil is not used: aipm has one of that name\n"
    )
    elsewhere = install.root / "other.toml"
    elsewhere.write_text("[plugins.evil]\nenabled = false\n")
    assert install.run("moon", "--config", "other.toml", check=2).returncode == 2
    assert install.run("moon", f"--config={elsewhere}", check=2).returncode == 2
    install.environ["AIPM_PLUGINS__EVIL__ENABLED"] = "false"
    assert install.run("moon", check=2).returncode == 2
    (install.root / "aipm.toml").write_text("this is no TOML")
    assert "No such command" in install.run("moon", check=2).stderr


@pytest.fixture
def rivals(tmp_path: Path) -> Install:
    site = tmp_path / "site"
    for name in ("one", "two"):
        source = f"class Moon(Plugin):\n    '''Moon of {name}.'''\ndef moon():\n    print('{name}')"
        points = {"moon": f"aipm_{name}:Moon", name: f"aipm_{name}:Moon"}
        commands = {"moon": f"aipm_{name}:moon"}
        write_distribution(site, name, source, plugins=points, commands=commands)
    return on_path(Install.make(tmp_path / "home"), site)


def test_two_distributions_with_one_name_cost_nobody_the_start(rivals: Install) -> None:
    rivals.run("status")
    rows = [row for row in rivals.json("plugins") if row["name"] == "moon"]
    assert [row["enabled"] for row in rows] == [False, False]


def test_a_name_of_two_is_chosen_by_its_distribution(rivals: Install) -> None:
    settings = rivals.root / "aipm.toml"
    settings.write_text("[plugins.moon]\n")
    said = rivals.run("status", check=2).stderr
    assert said == (
        "aipm: plugin 'moon': aipm-one and aipm-two both have it; "
        'say which in [plugins.moon] with distribution = "aipm-one"\n'
    )
    settings.write_text("[plugins.moon]\noptional = true\n")
    rivals.run("status")
    settings.write_text("[plugins.moon]\ndistribution = 'aipm-two'\n")
    assert rivals.json("plugins", "info", "moon")["summary"] == "Moon of two."
    rows = [row for row in rivals.json("plugins") if row["name"] == "moon"]
    assert [(row["distribution"], row["enabled"]) for row in rows] == [
        ("aipm-one", False),
        ("aipm-two", True),
    ]
    assert rivals.run("moon").stdout == "two\n"
    settings.write_text("[plugins.moon]\ndistribution = 'aipm-three'\n")
    assert "aipm-three" in rivals.run("status", check=2).stderr


def test_a_command_of_two_is_neither(rivals: Install) -> None:
    (rivals.root / "aipm.toml").write_text("[plugins.one]\n[plugins.two]\n")
    said = rivals.run("moon", check=2).stderr
    assert (
        said == "aipm: the command 'moon' is in aipm-one and in aipm-two; switch one of them off\n"
    )
    rivals.run("status")


@pytest.mark.parametrize(
    ("requires", "sentence"),
    [
        (["aipm-runtime>=99"], "needs aipm-runtime>=99, this is "),
        (["AIPM_Runtime <0.0.1 ; python_version > '3'"], "needs AIPM_Runtime<0.0.1"),
        (["aipm-runtime>=0.0.1", "other>=99"], ""),
        (["aipm-runtime>=99; extra == 'later'"], ""),
        (["not a requirement!"], ""),
    ],
)
def test_what_a_distribution_needs_of_aipm_is_looked_at(
    tmp_path: Path, requires: list[str], sentence: str
) -> None:
    site = tmp_path / "site"
    source = "class New(Plugin):\n    '''New.'''\n"
    write_distribution(site, "new", source, plugins={"new": "aipm_new:New"}, requires=requires)
    install = on_path(Install.make(tmp_path / "home", "[plugins.new]\n"), site)
    done = install.run("status", check=None)
    assert (done.returncode, sentence in done.stderr) == (2 if sentence else 0, True)
    (install.root / "aipm.toml").write_text("[plugins.new]\noptional = true\n")
    install.run("status")


@pytest.mark.parametrize(("version", "code"), [(1, 0), (2, 2), ("'x'", 2)])
def test_the_version_of_the_api_is_looked_at(tmp_path: Path, version: object, code: int) -> None:
    site = tmp_path / "site"
    source = f"class New(Plugin):\n    '''New.'''\n    aipm_api = {version}\n"
    write_distribution(site, "new", source, plugins={"new": "aipm_new:New"})
    install = on_path(Install.make(tmp_path / "home", "[plugins.new]\n"), site)
    done = install.run("status", check=code)
    if code:
        assert f"plugin 'new': is written for aipm_api = {version}" in done.stderr


REPLACING = """
class Other(Plugin):
    '''Talks in its own way.'''
    replaces = ("conversations",)
    @hookimpl
    def aipm_tools(self):
        yield tool(self.start_conversation, access=Access.ANYONE)
    async def start_conversation(self, call: Call, args: NoArguments) -> Json:
        '''Talk.'''
        return "said"
"""


def test_a_plugin_takes_the_place_of_another(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_distribution(site, "other", REPLACING, plugins={"other": "aipm_other:Other"})
    rival = REPLACING.replace("Other", "Rival")
    write_distribution(site, "rival", rival, plugins={"rival": "aipm_rival:Rival"})
    install = on_path(Install.make(tmp_path / "home", "[plugins.other]\n"), site)
    with install.up() as server:
        assert Agent(server.mcp).result("start_conversation") == "said"
        assert "error" in Agent(server.mcp).call("end_conversation")
    (install.root / "aipm.toml").write_text("[plugins.other]\n[plugins.rival]\n")
    said = install.run("status", check=2).stderr
    assert said == ("aipm: plugin 'rival': replaces conversations, as other does; switch one off\n")
