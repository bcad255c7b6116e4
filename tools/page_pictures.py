"""Makes pictures of every screen into ``docs/pictures``: ``python -m tools.page_pictures [NAME]``.

Both languages, both themes, on a desk and on a phone, of a real server whose agents have worked for
a moment. Needs Chromium; the pictures show one run, so they are not compared by any test.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aipm_devkit.program import Server
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import shop_runs
from tests.shop import Shop

PLACE = Path(__file__).resolve().parent.parent / "docs" / "pictures"
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run")
QUALITY = 82


@dataclass(frozen=True)
class Look:
    """How somebody looks at the page."""

    language: Literal["ja", "en"]
    theme: Literal["light", "dark"]
    width: int

    @property
    def name(self) -> str:
        """The end of a picture's name."""
        device = "phone" if self.width < 500 else "desk"  # noqa: PLR2004 - a phone is narrow
        return f"{self.language}-{self.theme}-{device}"


LOOKS = (
    Look("en", "light", 1440),
    Look("ja", "dark", 1440),
    Look("ja", "light", 390),
    Look("en", "dark", 390),
)


def screens(shop: Shop, runs: shop_runs.Runs) -> dict[str, str]:
    """Name the pictures, and where each is taken."""
    return {
        "run": f"#/shop/runs/{runs['builder']['id']}",
        "run_changes": f"#/shop/runs/{runs['packer']['id']}/changes",
        "run_failed": f"#/shop/inbox/{runs['tester']['id']}",
        "inbox": "#/shop/inbox",
        "board": "#/shop/board",
        "task": f"#/shop/tasks/{shop.tasks['tax']}",
        "agents": "#/shop/agents",
        "chat": "#/shop/chat/worker-1",
        "conversations": "#/shop/conversations",
        "activity": "#/shop/activity",
        "start": "#/shop/start",
        "settings": "#/settings/members",
        "connect": "#/settings/connect",
    }


def main() -> int:
    """Take them all."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("no Chromium: apt-get install chromium\n")
        return 1
    PLACE.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for language in ("en", "ja"):
            _in_language(browser, language)
        browser.close()
    return 0


def _in_language(browser: Browser, language: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        shop = shop_runs.make(Path(place) / "shop", language)
        with shop.install.up() as server:
            shop.open(server)
            runs = shop_runs.start(shop, server)
            shop.ask(server, "v2.0 is out\u202e")
            for look in LOOKS:
                if look.language == language:
                    _taken(browser, shop, server, look, screens(shop, runs))


def _taken(
    browser: Browser, shop: Shop, server: Server, look: Look, places: dict[str, str]
) -> None:
    context = browser.new_context(
        viewport={"width": look.width, "height": 900 if look.width > 500 else 844},  # noqa: PLR2004
        locale=look.language,
        color_scheme=look.theme,
        has_touch=look.width < 500,  # noqa: PLR2004
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(server.url)
    expect(page.locator(".lo-box")).to_be_visible()
    _save(page, "login", look)
    code = shop.install.json("open", "--as", "anna", "--print")["code"]
    page.goto(f"{server.url}/#code={code}")
    page.reload()
    for name, address in places.items():
        page.goto(f"{server.url}/{address}")
        expect(page.locator(".pill.is-live").first).to_be_attached()
        expect(page.locator(".skel")).to_have_count(0)
        _save(page, name, look)
    page.keyboard.press("Control+k")
    expect(page.locator("dialog")).to_be_visible()
    _save(page, "palette", look)
    context.close()


def _save(page: Page, name: str, look: Look) -> None:
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    path = PLACE / f"{name}-{look.name}.jpg"
    page.screenshot(path=str(path), type="jpeg", quality=QUALITY)


if __name__ == "__main__":
    sys.exit(main())
