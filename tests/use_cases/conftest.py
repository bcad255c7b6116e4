"""One server for all use cases, a browser for each module, a project for each test."""

from collections.abc import Generator, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.use_cases.world import Case, World
from tools.browser import MISSING, find

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    place = find()
    if place is None:
        pytest.skip(MISSING)
    with sync_playwright() as made:
        opened = made.chromium.launch(executable_path=place, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("use-cases") / "place")
    with made.install.up() as server:
        made.open(server)
        yield made


@pytest.fixture
def case(request: pytest.FixtureRequest, world: World, browser: Browser) -> Iterator[Case]:
    name = request.node.originalname.split("_")[1]
    made = Case(world, browser, name + getattr(request, "param", ""))
    yield made
    made.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with a failure what has happened in its project."""
    report = yield
    case = getattr(item, "funcargs", {}).get("case")
    if report.when == "call" and report.failed and isinstance(case, Case):
        report.sections.append(("story", case.story()))
    return report
