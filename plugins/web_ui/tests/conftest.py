"""A real browser for the page, where `make test` has found or installed one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.shop import Shop
from tools.browser import MISSING, find

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if any(MISSING in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(f"\n*** {MISSING} ***\n", red=True, bold=True)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    place = find()
    if place is None:
        pytest.skip(MISSING)
    made = playwright.chromium.launch(executable_path=place, args=list(FLAGS))
    yield made
    made.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A shop with its members, closed: nothing runs yet."""
    root: Path = tmp_path_factory.mktemp("shop")
    return Shop.make(root / "place")
