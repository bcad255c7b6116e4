"""The project that ``make run`` shows: a backlog, and two scripted agents that work it off."""

from __future__ import annotations

import json
import os
import shutil
import subprocess  # git, without a shell  # nosec B404
from pathlib import Path
from typing import Any

SETTINGS = """
[plugins.runner]
max_runs = 2

[plugins.runner.programs.demo-builder]     # a stand-in that plays a file: no model, no network
adapter = "script"
script = "scripts/builder.json"

[plugins.runner.programs.demo-reviewer]
adapter = "script"
script = "scripts/reviewer.json"
"""
# Title, agent, number of the task that comes before.
TASKS: dict[str, tuple[tuple[str, str | None, int | None], ...]] = {
    "en": (
        ("Prices with tax", "worker-1", None),
        ("Review: prices with tax", "worker-2", 0),
        ("Cart survives a login", "worker-1", None),
        ("Search with kana", "worker-2", None),
        ("Order mail in two languages", "worker-1", 2),
        ("Review: order mail", "worker-2", 4),
        ("CSV for accounting", None, None),
    ),
    "ja": (
        ("税込価格の表示", "worker-1", None),
        ("レビュー: 税込価格の表示", "worker-2", 0),
        ("ログイン後もカートを保持", "worker-1", None),
        ("かなでの商品検索", "worker-2", None),
        ("注文確認メール（日英）", "worker-1", 2),
        ("レビュー: 注文確認メール", "worker-2", 4),
        ("会計用の CSV 出力", None, None),
    ),
}
_SAID = {
    "en": (
        "I read the task first.",
        "Now I write it down and test it.",
        "May I also document this?",
    ),
    "ja": ("まずタスクを読みます。", "書いてテストします。", "文書化もしてよいですか"),
}
_BEFORE = "export function price(net) {\n  return Math.round(net * 1.1);\n}\n"
_AFTER = (
    "export function price(net, rate) {\n  if (rate === undefined) throw new Error('no rate');\n"
    "  return Math.round(net * (1 + rate));\n}\n"
)


def language() -> str:
    """Return the language of whoever looks: Japanese unless the environment says otherwise."""
    spoken = next((os.environ[n] for n in ("LC_ALL", "LANG") if os.environ.get(n)), "ja")
    return "ja" if spoken.startswith("ja") or spoken in ("C", "POSIX", "C.UTF-8") else "en"


def write_files(place: Path, locale: str) -> None:
    """Write what the agents play, their programs into the settings, and a repository."""
    scripts = place / "scripts"
    scripts.mkdir(exist_ok=True)
    for name, steps in (("builder", _build(locale)), ("reviewer", _review(locale))):
        text = json.dumps(steps, ensure_ascii=False, indent=1)
        (scripts / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    settings = place / "aipm.toml"
    text = settings.read_text(encoding="utf-8").replace('locale = "ja"', f'locale = "{locale}"')
    settings.write_text(text + SETTINGS, encoding="utf-8")
    _repository(place / "work")


def _repository(work: Path) -> None:
    """Make the project's directory a repository, so that each task has a working copy."""
    git = shutil.which("git")
    if git is None:
        return
    (work / "src").mkdir(parents=True, exist_ok=True)
    (work / "src" / "price.js").write_text(_BEFORE, encoding="utf-8")
    who = ("-c", "user.name=demo", "-c", "user.email=demo@localhost")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "src"),
        ("commit", "-qm", "The demo begins"),
    ):
        subprocess.run([git, *who, *words], cwd=work, check=True)  # noqa: S603  # nosec B603


def _build(locale: str) -> list[dict[str, Any]]:
    first, then, ask = _SAID[locale]
    return [
        {"text": first},
        {"tool": "get_next_action"},
        {"tool": "get_my_task"},
        {"tool": "update_task_status", "args": {"task_id": "$TASK", "status": "in_progress"}},
        {"wait_ms": 4000},
        {"text": then},
        {"write": {"path": "src/price.js", "content": _AFTER}},
        {"wait_ms": 4000},
        {"tool": "request_task", "args": {"title": ask}},
        {"wait_ms": 3000},
        {"tool": "report_completed", "args": {"result": "success", "summary": then}},
    ]


def _review(locale: str) -> list[dict[str, Any]]:
    first, then, _ = _SAID[locale]
    return [
        {"text": first},
        {"tool": "get_next_action"},
        {"tool": "get_my_task"},
        {"tool": "update_task_status", "args": {"task_id": "$TASK", "status": "in_progress"}},
        {"wait_ms": 5000},
        {"text": then},
        {"tool": "list_tasks"},
        {"wait_ms": 5000},
        {"tool": "report_completed", "args": {"result": "success", "summary": first}},
    ]
