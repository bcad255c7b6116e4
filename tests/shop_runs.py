"""Programs for the shop: one agent at work, one that is done, one whose program is missing."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from aipm_devkit.program import Install, Server

from tests.shop import Person, Shop, Words

PROGRAMS = """
[plugins.runner]
retry_seconds = 0.2
[plugins.runner.programs.builder]
adapter = "script"
script = "build.json"
[plugins.runner.programs.packer]
adapter = "script"
script = "pack.json"
[plugins.runner.programs.codex-old]
command = ["/opt/codex-old/bin/codex"]
"""
# Agent, program, title of its task.
TEAM: tuple[tuple[str, str, Words], ...] = (
    ("builder", "builder", {"en": "Prices with tax", "ja": "税込価格の表示"}),
    ("packer", "packer", {"en": "Packing list as PDF", "ja": "納品書の PDF"}),
    ("tester", "codex-old", {"en": "Test the cart", "ja": "カートのテスト"}),
)
OLD = "export function price(net) {\n  return Math.round(net * 1.1);\n}\n"
NEW = (
    "import { rates } from './rates.js';\n\nexport function price(net, country) {\n"
    "  const rate = rates[country];\n  if (rate === undefined) throw new Error(country);\n"
    "  // Rounded per line: an invoice adds up line by line.\n"
    "  return Math.round(net * (1 + rate));\n}\n"
)
Runs = dict[str, dict[str, Any]]
_PATIENCE_SECONDS = 40.0


def steps(locale: str, *, last: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what a scripted agent does: words, tools, files."""
    said = {
        "en": (
            "I read the task and the current code first.",
            "Tax is one constant. Now per country.",
        ),
        "ja": ("まずタスクと今のコードを読みます。", "税率が定数 1 つなので、国別に変えます。"),
    }[locale]
    return [
        {"text": f"\x1b[1m{said[0]}\x1b[0m"},
        {"tool": "get_my_task"},
        {"tool": "list_tasks"},
        {"tool": "update_task_status", "args": {"task_id": "$TASK", "status": "in_progress"}},
        {"text": said[1]},
        {"write": {"path": "src/price.js", "content": NEW}},
        {"write": {"path": "src/rates.js", "content": "export const rates = { JP: 0.1 };\n"}},
        {"tool": "get_notifications"},
        *last,
    ]


def settings(install: Install, locale: str) -> None:
    """Put programs into the settings, and a repository into the shop's directory."""
    root = install.root
    toml = root / "aipm.toml"
    toml.write_text(toml.read_text(encoding="utf-8") + PROGRAMS, encoding="utf-8")
    done = [{"tool": "report_completed", "args": {"result": "success", "summary": "ok"}}]
    for name, last in (("build", [{"wait_ms": 900_000}]), ("pack", done)):
        text = json.dumps(steps(locale, last=last), ensure_ascii=False)
        (root / f"{name}.json").write_text(text, encoding="utf-8")
    source = root / "work" / "src"
    source.mkdir(parents=True, exist_ok=True)
    (source / "price.js").write_text(OLD, encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", "src"), ("commit", "-qm", "first")):
        who = ("-c", "user.name=anna", "-c", "user.email=anna@example.com")
        subprocess.run(["git", *who, *words], cwd=root / "work", check=True)


def start(shop: Shop, server: Server) -> Runs:
    """Give agents their programs and something to do; return their runs once all are there."""
    anna = shop.person(server)
    for agent, program, title in TEAM:
        anna.call("add_agent", project_id="shop", agent_id=agent, parent_id="anna", program=program)
        anna.call(
            "create_task",
            project_id="shop",
            title=shop.say(title),
            status="todo",
            assignee_id=agent,
        )
    return _begun(anna)


def _begun(anna: Person) -> Runs:
    """Wait until one works, one has ended well, and one waits for a person."""
    wanted = {"builder": "running", "packer": "ended", "tester": "ended"}
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        views = anna.get("/api/projects/shop/state")["views"]
        runs = {run["agent_id"]: run for run in views["runs"].values()}
        log = runs.get("builder") and anna.get(f"/api/runs/{runs['builder']['id']}/log")["lines"]
        if {name: run["state"] for name, run in runs.items()} == wanted and len(log or []) > 5:
            return runs
        assert time.monotonic() < deadline, runs
        time.sleep(0.1)


def make(root: Path, locale: str = "ja") -> Shop:
    """Install a shop whose agents have programs."""
    shop = Shop.make(root, locale)
    settings(shop.install, locale)
    return shop
