"""A real browser for the page. Whether there is one is decided here, once."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.shop import Shop

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "no Chromium: the page was NOT tested in a browser (apt-get install chromium)"


@cache
def chromium() -> str | None:
    """Find Chromium; install Debian's where that is possible."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found or os.geteuid() != 0 or not shutil.which("apt-get"):
        return found
    for command in (["update"], ["install", "--yes", "chromium", "fonts-noto-cjk"]):
        subprocess.run(["apt-get", "--quiet", *command], check=False, timeout=600)
    return shutil.which("chromium")


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
    place = chromium()
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
