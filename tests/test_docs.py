"""What the documentation says can be done is done here; what it points to is there."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aipm_cli import discovery, settings_file
from aipm_cli.root import app
from aipm_cli.table_check import checked
from aipm_devkit.program import Install
from typer.main import get_command

from tools.site import prepare

REPOSITORY = Path(__file__).parent.parent
PAGES = sorted(
    [
        *(REPOSITORY / "docs").rglob("*.md"),
        *REPOSITORY.glob("*.md"),
        *REPOSITORY.glob("plugins/*/README.md"),
    ]
)
FENCE = re.compile(r"^```(\w+)?(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_INSTALLED = {"weather", "notes"}  # plugins a reader makes
STAYS = {"up", "mcp", "chat"}  # commands that do not end by themselves
LANGUAGES = {"console", "toml", "json", "python", "text", "diff"}


def name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def blocks(page: Path, language: str) -> Iterator[tuple[str | None, str]]:
    for found, title, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if found == language:
            yield title or None, text


def prose(page: Path) -> str:
    """Return a page without its code, in which brackets mean nothing."""
    without = FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`", "`code`", without)


def commands(page: Path) -> list[list[str]]:
    return [
        shlex.split(line.removeprefix("$ "), comments=True)
        for _, text in blocks(page, "console")
        for line in text.splitlines()
        if line.startswith("$ aipm")
    ]


def anchors(page: Path) -> set[str]:
    """Return the places of a page, named as GitHub and our site name them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_has_a_target(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?://", target):
            continue
        path, _, place = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target} is not there"
        assert file.is_relative_to(REPOSITORY)
        if place and file.suffix == ".md":
            assert place in anchors(file), f"{target}: no such place, only {anchors(file)}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_something_checks(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = FENCE.findall(text)
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.MULTILINE)), "a fence is not read"
    assert {language for language, _, _ in found} <= LANGUAGES | {""}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_settings_in_blocks_are_valid(page: Path) -> None:
    installed = {found.name: found for found in discovery.installed()}
    for title, text in blocks(page, "toml"):
        if title not in (None, "aipm.toml"):
            continue
        settings = settings_file.parse(tomllib.loads(text), {}, Path("aipm.toml"))
        for plugin, table in settings.plugins.items():
            if plugin not in NOT_INSTALLED:
                model = installed[plugin].load().config_model
                checked(model, table.own(), f"[plugins.{plugin}]")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_json_and_python_in_blocks_can_be_read(page: Path) -> None:
    for _, text in blocks(page, "json"):
        json.loads(text)
    for title, text in blocks(page, "python"):
        compile(text, title or name(page), "exec")


def parse(words: list[str]) -> None:
    """Let the real command line read a command without carrying it out."""
    command: Any = get_command(app)
    context: Any = None
    arguments = words[1:]
    while True:
        context = command.make_context(words[0], list(arguments), parent=context)
        if not hasattr(command, "resolve_command"):
            return
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        _, command, arguments = command.resolve_command(context, rest)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_is_one_the_program_understands(page: Path) -> None:
    for words in commands(page):
        if any(mark in word for word in words for mark in ("|", "[")):
            continue  # a synopsis, not a command
        parse(words)


@pytest.mark.parametrize("words", [["aipm", "upp"], ["aipm", "up", "--prot", "1"], ["aipm", "say"]])
def test_a_command_that_is_wrong_would_be_noticed(words: list[str]) -> None:
    with pytest.raises(Exception, match=r"No such command|No such option|Missing"):
        parse(words)


def test_a_team_lead_can_type_the_guide_from_top_to_bottom(tmp_path: Path) -> None:
    install = Install(tmp_path)
    typed = commands(REPOSITORY / "docs/guides/team-lead.md")
    done = 0
    for _, *words in typed:
        if words[0] not in STAYS and not any("…" in word for word in words):
            install.run(*words)
            done += 1
    assert done >= 20


def test_every_test_that_a_page_names_is_there() -> None:
    named = [
        (name(page), file, test)
        for page in PAGES
        for file, test in re.findall(r"([\w/]+\.py)::(test_\w+)", page.read_text(encoding="utf-8"))
    ]
    assert len(named) > 30
    for page, file, test in named:
        assert f"def {test}(" in (REPOSITORY / file).read_text(encoding="utf-8"), f"{page}: {test}"


def test_the_staircase_on_the_page_is_the_one_that_is_held() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    shown = [text.splitlines() for _, text in blocks(REPOSITORY / "docs/architecture.md", "text")]
    assert layers in shown


def test_no_page_names_a_machine() -> None:
    for page in [*PAGES, *(REPOSITORY / "docs").rglob("*.svg")]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"/(work|home|root|Users)/|pypi\.|localhost:\d", text), page


def test_the_site_has_every_page() -> None:
    def leaves(nav: object) -> Iterator[str]:
        if isinstance(nav, str):
            yield nav
        else:
            for part in nav.values() if isinstance(nav, dict) else nav:  # type: ignore[attr-defined]
                yield from leaves(part)

    site = tomllib.loads((REPOSITORY / "zensical.toml").read_text(encoding="utf-8"))
    docs = REPOSITORY / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    assert set(leaves(site["project"]["nav"])) == pages


def test_links_to_source_become_paths_on_the_site(tmp_path: Path) -> None:
    prepare(tmp_path / "pages")
    page = (tmp_path / "pages/hooks.md").read_text(encoding="utf-8")
    assert "](../plugins/" not in page
    assert "(`plugins/tasks/aipm_tasks/plugin.py`)" in page
    assert "](plugin-tutorial.md#1-the-first-tool)" in page
    assert (tmp_path / "pages/demo.svg").is_file()


def test_both_readmes_point_to_the_same_things() -> None:
    def links(file: str) -> list[str]:
        text = (REPOSITORY / file).read_text(encoding="utf-8")
        found = re.findall(r"\]\(([^)]+)\)", text)
        return [link for link in found if not link.startswith("README")]

    assert links("README.md") == links("README.ja.md")
    typed = [
        [words[:3] for words in commands(REPOSITORY / file)]
        for file in ("README.md", "README.ja.md")
    ]
    assert typed[0] == typed[1]


def test_the_changelog_knows_this_version() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {project['project']['version']}\n" in changelog
