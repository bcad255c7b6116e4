"""Rules of the repository that no single test would notice being broken."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from string import Formatter

import pytest
from aipm_cli import discovery
from aipm_devkit.conformance.runner import Check, examine

from aipm_core.hookspecs import Hooks, kinds

REPOSITORY = Path(__file__).parent.parent
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = sorted(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
LONGEST_MODULE = 300
LARGEST_KERNEL = 2_600  # lines
# Parts of the program that are no plugins: found through entry points of their own.
HOST = {"aipm_cli", "aipm_demo", "aipm_devkit", "aipm_processes", "aipm_store"}


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


@pytest.mark.parametrize("module", ["__init__", "host"])
def test_the_fronts_of_the_kernel_are_imports_and_a_list(module: str) -> None:
    tree = ast.parse((REPOSITORY / f"aipm_core/{module}.py").read_text(encoding="utf-8"))
    _, *imports, listed = tree.body  # a docstring first
    assert all(isinstance(node, ast.ImportFrom) for node in imports)
    imported = [
        alias.name for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert isinstance(listed, ast.Assign)
    assert sorted(ast.literal_eval(listed.value)) == sorted(imported)
    assert len(set(imported)) == len(imported)


def test_the_kernel_can_be_read_in_an_afternoon() -> None:
    files = (REPOSITORY / "aipm_core").rglob("*.py")
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    assert 1_500 < lines <= LARGEST_KERNEL


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
    """Ask all plugins of this repository the questions we ask everybody else's.

    They are twenty, and their adapters are played every failure: on a busy machine that lasts.
    """
    ours = examine(str(REPOSITORY), patience=600)
    examples = sorted(place for place in (REPOSITORY / "examples").iterdir() if place.is_dir())
    asked = (examine(str(place), patience=600) for place in examples)
    return [*ours, *(check for checks in asked for check in checks)]


@pytest.mark.timeout(1300)
def test_our_own_plugins_hold_to_the_rules_of_plugins(conformance: list[Check]) -> None:
    assert [check for check in conformance if not check.ok] == []
    asked = {check.plugin for check in conformance if check.name == "company"}
    assert asked >= {found.name for found in discovery.installed()}


def test_what_only_a_server_needs_is_a_plugin() -> None:
    points = PROJECT["project"]["entry-points"]
    assert points["aipm.server"].items() <= points["aipm"].items()


def test_every_package_is_listed_wherever_packages_are_listed() -> None:
    names = {Path(package).name for package in PACKAGES}
    linter = PROJECT["tool"]["importlinter"]
    assert set(linter["root_packages"]) == names
    plugins = names - {"aipm_core"}
    folders = {f"aipm_{path.name}" for path in (REPOSITORY / "plugins").iterdir() if path.is_dir()}
    assert folders == plugins
    points = PROJECT["project"]["entry-points"]["aipm"]
    assert {f"aipm_{name}" for name in points} | HOST == plugins
    _, kernel, front, meeting = linter["contracts"]
    assert set(kernel["forbidden_modules"]) == plugins
    assert front["protected_modules"] == ["aipm_core.*"]
    assert set(meeting["modules"]) == plugins
    apis = {name.removeprefix("** -> ") for name in meeting["ignore_imports"]}
    assert {f"{plugin}.api" for plugin in plugins if has_api(plugin)} <= apis


def has_api(package: str) -> bool:
    folder = REPOSITORY / "plugins" / package.removeprefix("aipm_") / package
    return (folder / "api.py").exists() or (folder / "api").exists()


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
