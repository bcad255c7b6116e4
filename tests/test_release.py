"""Releases are tagged from the changelog, and only when everything agrees."""

import subprocess
from pathlib import Path

import pytest

from tools.release import notes, problem

CHANGELOG = """\
# Changelog

## Unreleased

### Added
- soon

## 1.2.3

### Fixed
- this

## 1.2.2

- that
"""


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "all")
    return tmp_path


def test_the_notes_are_the_section_of_the_version() -> None:
    assert notes(CHANGELOG, "1.2.3") == "### Fixed\n- this"
    assert notes(CHANGELOG, "1.2.2") == "- that"
    assert notes(CHANGELOG, "1.2") == ""


def test_a_version_that_everything_agrees_on_can_be_tagged(tree: Path) -> None:
    assert problem(tree, "1.2.3") is None


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("1.2", "is no version"),
        ("1.2.2", "pyproject.toml says 1.2.3"),
        ("v1.2.3", "is no version"),
    ],
)
def test_another_version_is_refused(tree: Path, version: str, why: str) -> None:
    assert why in (problem(tree, version) or "")


def test_a_version_the_changelog_does_not_know_is_refused(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3\n\n", encoding="utf-8")
    assert "no section '## 1.2.3'" in (problem(tree, "1.2.3") or "")


def test_changes_that_are_not_committed_are_refused(tree: Path) -> None:
    (tree / "new.txt").touch()
    assert "not committed" in (problem(tree, "1.2.3") or "")


def test_a_version_is_tagged_once(tree: Path) -> None:
    git(tree, "tag", "v1.2.3")
    assert "tagged already" in (problem(tree, "1.2.3") or "")
