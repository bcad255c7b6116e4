"""Fixtures for tests of plugins; pytest finds them where aipm is installed.

This module is imported by every pytest run of the environment, so it imports nothing: what a
fixture needs is imported when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from aipm_devkit.team import Started, TestTeam


@pytest.fixture
def aipm_runtime() -> Callable[..., Any]:
    """A real runtime with only the plugins that are named; see ``aipm_devkit.testing.running``."""
    from aipm_devkit.testing import running

    return running


@pytest.fixture
def aipm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Started]]:
    """The real program in a directory of its own: ``aipm_server(toml)``; it ends by itself."""
    from contextlib import ExitStack

    from aipm_devkit.team import Started

    with ExitStack() as running:

        def start(toml: str = "", *options: str, **environ: str) -> Started:
            root = tmp_path_factory.mktemp("aipm")
            return Started.make(running, root, toml, options, environ)

        yield start


@pytest.fixture
def aipm_team(aipm_server: Callable[..., Started]) -> Callable[..., TestTeam]:
    """A server with a project ``p``: ``aipm_team("worker-1", people=("anna",), toml=…)``."""
    from aipm_devkit.team import TestTeam

    def make(*agents: str, people: tuple[str, ...] = (), toml: str = "") -> TestTeam:
        started = aipm_server(toml)
        return TestTeam.make(started, agents, people)

    return make


@pytest.fixture
def aipm_browser() -> Iterator[Callable[[TestTeam, str], Any]]:
    """The page in a real browser, logged in: ``aipm_browser(team, "anna")``; needs playwright."""
    from contextlib import ExitStack

    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        pytest.fail("aipm_browser needs playwright: pip install playwright && playwright install")
    with ExitStack() as opened:
        browser = opened.enter_context(sync_playwright()).chromium.launch()
        opened.callback(browser.close)

        def page(team: TestTeam, person: str) -> Any:  # noqa: ANN401
            made = browser.new_page()
            made.goto(team.page_of(person))
            return made

        yield page
