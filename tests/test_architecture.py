"""Rules of the repository that no single test would notice being broken."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from string import Formatter

import pytest

import aipm_core
from aipm_core.cli.conformance.probe import Check, examine
from aipm_core.cli.conformance.questions import PRIVATE
from aipm_core.hookspecs import Hooks, kinds
from aipm_core.plugins import discovery

REPOSITORY = Path(__file__).parent.parent
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = sorted(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
LONGEST_MODULE = 300


def sources() -> list[Path]:
    places = ("aipm_core", "plugins", "examples", "tools", "benchmarks")
    return [
        file
        for place in places
        for file in sorted((REPOSITORY / place).rglob("*.py"))
        if "tests" not in file.relative_to(REPOSITORY).parts
    ]


def test_every_hook_is_prefixed_and_documented() -> None:
    public = [name for name in vars(Hooks) if not name.startswith("_")]
    assert public == list(kinds())
    for name in public:
        assert name.startswith("aipm_")
        assert (getattr(Hooks, name).__doc__ or "").endswith(".")


def test_the_public_front_says_the_same_thing_three_times() -> None:
    """Type checkers read the imports, Python the table, people ``__all__``."""
    tree = ast.parse((REPOSITORY / "aipm_core/__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        (str(node.module).removeprefix("aipm_core."), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {(home, name) for home, names in aipm_core._HOMES.items() for name in names}
    assert imported == homes
    assert sorted(name for _, name in homes) == sorted(aipm_core.__all__)
    assert len(set(aipm_core.__all__)) == len(aipm_core.__all__)
    for name in aipm_core.__all__:
        assert getattr(aipm_core, name) is not None


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'aipm_core' has no attribute 'Nothing'"):
        _ = aipm_core.Nothing


def test_no_module_grows_into_a_hall() -> None:
    lengths = {
        str(file.relative_to(REPOSITORY)): len(file.read_text(encoding="utf-8").splitlines())
        for file in sources()
    }
    assert len(lengths) > 50
    assert {name: n for name, n in lengths.items() if n > LONGEST_MODULE} == {}


def test_no_room_is_called_utils() -> None:
    vague = {"utils", "util", "helper", "helpers", "manager", "common", "misc"}
    assert [file for file in sources() if file.stem in vague] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_both_languages_say_the_same(package: str) -> None:
    folder = REPOSITORY / package / "locale"
    if not folder.exists():
        return
    assert sorted(file.name for file in folder.iterdir()) == ["en.toml", "ja.toml"]
    ja, en = (texts(folder / f"{locale}.toml") for locale in ("ja", "en"))
    assert ja.keys() == en.keys()
    assert {key: places(text) for key, text in ja.items()} == {
        key: places(text) for key, text in en.items()
    }


def texts(file: Path) -> dict[str, str]:
    def flat(table: dict[str, object], prefix: str = "") -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in table.items():
            if isinstance(value, dict):
                found |= flat(value, f"{prefix}{key}.")
            else:
                assert isinstance(value, str), f"{file}: {prefix}{key} is not a text"
                found[f"{prefix}{key}"] = value
        return found

    return flat(tomllib.loads(file.read_text(encoding="utf-8")))


def places(text: str) -> set[str]:
    return {place for _, place, _, _ in Formatter().parse(text) if place is not None}


@pytest.fixture(scope="module")
def conformance() -> list[Check]:
    """Ask all plugins of this repository the questions we ask everybody else's."""
    return [*examine(str(REPOSITORY)), *examine(str(REPOSITORY / "examples/aipm-clock"))]


def test_our_own_plugins_hold_to_the_rules_of_plugins(conformance: list[Check]) -> None:
    assert [check for check in conformance if not check.ok] == []
    asked = {check.plugin for check in conformance if check.name == "company"}
    assert asked == {found.name for found in discovery.installed()}


def test_the_private_rooms_are_those_the_import_linter_guards() -> None:
    (contract,) = [
        contract
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract["name"] == "Plugins use the public front of the core only"
    ]
    assert {name.removeprefix("aipm_core.") for name in contract["forbidden_modules"]} == PRIVATE


def test_every_package_is_listed_wherever_packages_are_listed() -> None:
    names = {Path(package).name for package in PACKAGES}
    linter = PROJECT["tool"]["importlinter"]
    assert set(linter["root_packages"]) == names
    plugins = names - {"aipm_core"}
    folders = {f"aipm_{path.name}" for path in (REPOSITORY / "plugins").iterdir() if path.is_dir()}
    assert folders == plugins
    points = PROJECT["project"]["entry-points"]["aipm"]
    assert {f"aipm_{name}" for name in points} == plugins
    for contract in linter["contracts"][1:]:
        listed = [*contract.get("modules", ()), *contract.get("source_modules", ())]
        assert set(listed) in (plugins, {"aipm_core"}), contract["name"]


def test_commands_are_imported_without_the_machinery() -> None:
    """``aipm --help`` imports every command module; none may drag in what only running needs."""
    heavy = ("pydantic", "pluggy", "mcp", "sqlite_utils", "jsonschema", "uvicorn", "starlette")
    script = (
        "import json, sys\n"
        "from importlib.metadata import entry_points\n"
        "for point in entry_points(group='aipm.commands'): point.load()\n"
        f"print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
