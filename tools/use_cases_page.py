"""Writes docs/use-cases.md from the tests: use case, what it is, its test, its picture.

``python -m tools.use_cases_page --pictures`` plays them all and makes the pictures anew.
"""

from __future__ import annotations

import ast
import os
import subprocess  # pytest is started without a shell  # nosec B404
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "use_cases"
PICTURES = ROOT / "docs" / "pictures"
PLACE = "AIPM_USE_CASE_PICTURES"
TITLES = {
    "uc001": "エージェントによるタスク実行",
    "uc002": "マルチエージェント協調作業",
    "uc003": "AIモデル切り替え",
    "uc004": "複数プロジェクト×同一エージェント",
    "uc005": "マネージャー→ワーカー委任",
    "uc006": "複数ワーカー割り当て",
    "uc007": "依存関係のあるタスク実行",
    "uc008": "タスクのブロックによる作業中断",
    "uc009": "エージェントとのチャット通信",
    "uc010": "実行中にblockedに変更",
    "uc010b": "チャットタイムアウト",
    "uc011": "プロジェクト一時停止",
    "uc012": "タスクセッションからのメッセージ送信",
    "uc013": "Worker間メッセージ連携",
    "uc014": "チャットセッション即時応答",
    "uc015": "チャットセッション終了",
    "uc016": "AI間会話 (B: マネージャーとワーカー)",
    "uc017": "タスク承認フロー",
    "uc018": "チャットからのタスク依頼 (B: 上位者の自動承認)",
    "uc019": "チャットとタスクの同時実行",
    "uc020": "タスク起点のAI間会話",
    "maxturns": "最大ターン自動終了",
    "status": "セッション状態",
}
HEAD = """# Use cases
What a team does with aipm, from its first task to agents that talk with each other. Each is played
by its test through the page in a real browser, with agents that the runner starts and that speak
MCP. This page is made from those tests.

| use case | what happens | test | picture |
|---|---|---|---|
"""


def played() -> Iterator[tuple[str, str, str]]:
    """Yield each use case with what its test tells of it, and where that is."""
    for file in sorted(TESTS.glob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                place = f"{file.relative_to(ROOT)}::{node.name}"
                yield node.name.split("_")[1], ast.get_docstring(node) or "", place


def page() -> str:
    """Return the page."""
    rows = []
    found = {name: (told, place) for name, told, place in played()}
    for name, title in TITLES.items():
        told, place = found[name]
        shown = [one for one in (name, f"{name}b") if one == name or one not in TITLES]
        files = [f"use-case-{one}.jpg" for one in shown]
        links = [f"[seen](pictures/{one})" for one in files if (PICTURES / one).is_file()]
        number = name.upper() if name.startswith("uc") else "–"
        rows.append(f"| {number} {title} | {told} | `{place}` | {' '.join(links) or '–'} |\n")
    return HEAD + "".join(rows)


def main(arguments: list[str]) -> int:
    """Play the use cases with a camera; ``make docs`` then names the pictures."""
    if arguments != ["--pictures"]:
        sys.stderr.write("say --pictures to make them anew; `make docs` writes the page\n")
        return 2
    return subprocess.run(  # noqa: S603  # nosec B603
        [sys.executable, "-m", "pytest", "-n0", str(TESTS)],
        env={**os.environ, PLACE: str(PICTURES)},
        check=False,
        cwd=ROOT,
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
