"""Any set of our plugins starts, or says in one sentence what is missing."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from aipm_cli import discovery
from aipm_cli.program import assemble, open_runtime
from aipm_cli.settings import Settings
from aipm_devkit.program import Install
from pydantic import BaseModel

from aipm_core.errors import PluginError
from aipm_core.plugin import PluginClass
from aipm_core.texts import Texts

OURS = {found.name: found.load() for found in discovery.installed() if found.first_party}
MISSING = re.compile(
    r"plugin '(?P<plugin>\w+)': requires (?P<keys>[\w., ]+), which no enabled plugin provides; "
    r"switch the provider on or this plugin off"
)


FEW = 3  # so many on, or so many off: every quarrel of two or three plugins is among these
SAMPLES = 1500


def on(names: Iterable[str]) -> dict[str, PluginClass]:
    chosen = set(names)
    return {name: plugin for name, plugin in OURS.items() if name in chosen}


def few() -> Iterator[dict[str, PluginClass]]:
    """Return the sets of a few plugins, and those that lack a few."""
    for size in range(FEW + 1):
        for names in combinations(OURS, size):
            yield on(names)
            yield on(set(OURS) - set(names))


def samples() -> Iterator[dict[str, PluginClass]]:
    """Return sets of every size, the same ones in every run."""
    choice = random.Random(1)
    for _ in range(SAMPLES):
        yield on(choice.sample(sorted(OURS), choice.randint(FEW + 1, len(OURS) - FEW - 1)))


def every(first: frozenset[str]) -> Iterator[dict[str, PluginClass]]:
    """Return all sets, of the first plugins those that are named."""
    others = sorted(OURS)[SPLIT:]
    for size in range(len(others) + 1):
        for names in combinations(others, size):
            yield on({*names, *first})


SPLIT = 5
PARTS = [
    frozenset(some)
    for size in range(SPLIT + 1)
    for some in combinations(sorted(OURS)[:SPLIT], size)
]


def lacking(classes: dict[str, PluginClass]) -> dict[str, set[str]]:
    provided = {key for plugin in classes.values() for key in plugin.provides}
    wanted = {
        name: {key.name for key in plugin.requires if key not in provided}
        for name, plugin in classes.items()
    }
    return {name: keys for name, keys in wanted.items() if keys}


def refusal(classes: dict[str, PluginClass]) -> str | None:
    try:
        assemble(Settings(data_dir=Path("unused")), classes)
    except PluginError as error:
        return str(error)
    return None


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read catalogues and make schemas once instead of two thousand times; both are constant."""
    schemas: Any = cache(BaseModel.model_json_schema.__func__)  # type: ignore[attr-defined]
    monkeypatch.setattr(Texts, "load", cache(Texts.load))
    monkeypatch.setattr(BaseModel, "model_json_schema", classmethod(schemas))


def check(classes: dict[str, PluginClass]) -> None:
    """Hold that a set is put together, or that what is missing is named."""
    answer, missing = refusal(classes), lacking(classes)
    if not missing:
        assert answer is None, (sorted(classes), answer)
        return
    said = MISSING.fullmatch(answer or "")
    assert said, (sorted(classes), answer)
    assert set(said["keys"].split(", ")) == missing[said["plugin"]]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("sets", [few, samples], ids=lambda sets: sets.__name__)
def test_a_set_is_put_together_or_names_what_is_missing(
    sets: Callable[[], Iterator[dict[str, PluginClass]]],
) -> None:
    seen = 0
    for classes in sets():
        seen += 1
        check(classes)
    assert seen >= SAMPLES


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("first", PARTS, ids=lambda first: "+".join(sorted(first)) or "none")
def test_every_set_there_is(first: frozenset[str]) -> None:
    seen = 0
    for classes in every(first):
        seen += 1
        check(classes)
    assert seen == 2 ** (len(OURS) - SPLIT)


def companies() -> list[list[str]]:
    """Return the sets worth opening: nothing, everything, each with its needs, all but one."""
    chosen: set[frozenset[str]] = {frozenset(), frozenset(OURS)}
    for name in OURS:
        chosen.add(frozenset(_with_needs(name)))
        rest = {other: plugin for other, plugin in OURS.items() if other != name}
        while unmet := lacking(rest):
            rest = {other: plugin for other, plugin in rest.items() if other not in unmet}
        chosen.add(frozenset(rest))
    return sorted(map(sorted, chosen))


def _with_needs(name: str) -> set[str]:
    providers = {key: other for other, plugin in OURS.items() for key in plugin.provides}
    needs = {providers[key] for key in OURS[name].requires}
    return {name}.union(*(_with_needs(other) for other in needs))


@pytest.mark.parametrize("names", companies(), ids=lambda names: "+".join(names) or "nothing")
async def test_a_set_that_can_start_does(names: list[str], tmp_path: Path) -> None:
    classes = {name: OURS[name] for name in names}
    for _ in range(2):
        async with open_runtime(Settings(data_dir=tmp_path), classes) as runtime:
            assert {item.plugin for item in runtime.registered()} <= set(names)


def test_the_program_says_what_is_missing_and_ends_with_2(tmp_path: Path) -> None:
    needy = min(name for name, plugin in OURS.items() if plugin.requires)
    off = "".join(f"[plugins.{n}]\nenabled = false\n" for n in sorted(_with_needs(needy) - {needy}))
    done = Install.make(tmp_path, off).run("plugins", "list")
    done = Install.make(tmp_path, off).run("mcp", check=2)
    assert MISSING.fullmatch(done.stderr.removeprefix("aipm: ").rstrip("\n")), done.stderr
    assert not (tmp_path / ".aipm-data").exists()
