"""The page in a real browser: its size, its first picture, and how soon it shows a change."""

import re
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from aipm_devkit.program import Server
from playwright.sync_api import Page, sync_playwright

from benchmarks.people.house import House, line, percentile

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run")
# When the first card was drawn, when the page last heard something, when wanted words stood there.
WATCH = """
const Real = window.SharedWorker;
window.SharedWorker = class extends Real {
  constructor(...given) {
    super(...given);
    this.port.addEventListener('message', () => { window.heard = performance.now(); });
  }
};
const look = () => {
  if (window.first === undefined && document.querySelector('article'))
    requestAnimationFrame(() => { window.first ??= performance.now(); });
  if (window.wanted && document.body?.textContent.includes(window.wanted)) {
    window.wanted = null;
    const heard = window.heard;
    requestAnimationFrame(() => {
      const now = performance.now();
      window.seen = { at: performance.timeOrigin + now, after: now - heard };
    });
  }
};
new MutationObserver(look).observe(document, {
  childList: true, subtree: true, characterData: true,
});
"""
# The page's policy forbids to evaluate text, so this waits inside of one call.
UNTIL = """name => new Promise(done => {
  const look = () => window[name] ? done(window[name]) : setTimeout(look, 5);
  look();
})"""


def run(*, tasks: int, agents: int, changes: int, loads: int) -> None:
    """Measure with one server, and another one on the same store."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium: the page is not measured (apt-get install chromium)")
        return
    with tempfile.TemporaryDirectory() as place:
        print(f"the page, with {tasks:,} tasks and {agents} agents", flush=True)
        some = {"backlog": tasks // 2, "todo": tasks - tasks // 2}
        _measured(chromium, House.make(Path(place) / "house", some, agents), changes, loads)


def _measured(chromium: str, house: House, changes: int, loads: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        with house.install.up() as server, house.install.up() as other:
            line("shell and modules, packed", _packed(server) / 1000, "KB", "≤ 120")
            page = _signed_in(house, server, browser.new_page())
            first = _first_card(page, server, loads)
            line("first card drawn, warm", first, "ms", "≤ 400")
            _changes(house, page, {"this": server, "another": other}, changes)
        browser.close()


def _packed(server: Server) -> int:
    """Return the bytes of the shell and of everything it names, as they are sent."""
    with httpx.Client(base_url=server.url, headers={"Accept-Encoding": "gzip"}) as http:
        shell = http.get("/").text
        names = set(re.findall(r'"(/ui/[^"]+\.(?:js|css))"', shell))
        sizes = []
        for name in ("/", *sorted(names)):
            with http.stream("GET", name) as answer:
                sizes.append(sum(map(len, answer.iter_raw())))
    return sum(sizes)


def _signed_in(house: House, server: Server, page: Page) -> Page:
    code = house.install.json("open", "--as", "ada", "--print")["code"]
    page.add_init_script(WATCH)
    page.goto(f"{server.url}/#code={code}")
    page.wait_for_selector(".pill.is-live", state="attached")
    return page


def _first_card(page: Page, server: Server, loads: int) -> float:
    page.goto(f"{server.url}/#/p/board")
    times = []
    for _ in range(loads + 1):
        page.reload()
        times.append(float(page.evaluate(UNTIL, "first")))
    page.wait_for_selector(".pill.is-live", state="attached")
    return median(times[1:])


def _changes(house: House, page: Page, servers: dict[str, Server], count: int) -> None:
    before = _heap(page)
    frames: list[float] = []
    for name, server in servers.items():
        with house.http(server) as http:
            seen = [_change(http, page, f"{name} {number}") for number in range(count)]
        pixels = [pixel for pixel, _ in seen]
        frames += [frame for _, frame in seen]
        what = f"change asked of {name} server to its pixel: p95"
        line(what, percentile(pixels, 0.95), "ms", "≤ 100")
    line("news in the page to its frame: p95", percentile(frames, 0.95), "ms", "≤ 50")
    line(f"heap after {len(frames):,} changes beside before", _heap(page) / before, "×", "about 1")


def _change(http: httpx.Client, page: Page, title: str) -> tuple[float, float]:
    """Change a card that is shown; return the milliseconds to its pixel, and from the news on."""
    page.evaluate("title => { window.seen = null; window.wanted = title; }", title)
    begun = time.time()
    body = {"project_id": "p", "task_id": "tsk_todo_1", "title": title}
    http.post("/tools/edit_task", json=body).raise_for_status()
    seen: dict[str, Any] = page.evaluate(UNTIL, "seen")
    return seen["at"] - begun * 1000, seen["after"]


def _heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = float(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return used
