"""A team to be hit by faults, made once and copied for every test."""

from pathlib import Path

import pytest
from aipm_devkit.program import Install

from tests.agents import team
from tests.fault_team import SETTINGS, Team, Template, moved_in


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    root = tmp_path_factory.mktemp("template")
    return Template(root, team(Install.make(root, SETTINGS), "ann", "bob", "carl", "dave"))


@pytest.fixture
def us(template: Template, tmp_path: Path) -> Team:
    return moved_in(template, tmp_path / "place")
