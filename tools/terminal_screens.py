"""Prints what every command for people shows in a terminal of 80 columns, in both languages.

``python tools/terminal_screens.py [ja|en]``: a team with long ids and Japanese titles is set up in
a directory of its own, every command is run there, and lines that are too wide are named last.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len

AIPM = Path(sys.executable).with_name("aipm")
WIDTH = 80
SETUP = (
    "project add shop --dir shop --name オンラインショップの新しいサイト",
    "project add long-name-of-a-project-that-has-twenty",
    "agent add mary --project shop --type human --role manager --name 田中まりこ",
    "agent add worker-with-a-long-name --project shop --parent mary",
    "task add --project shop --assignee worker-with-a-long-name --status in_progress --title "
    "決済画面のボタンの色と大きさを、スマートフォンでも見やすいように直してください",
    "task add --project shop --status todo --priority urgent --title Short",
    "say worker-with-a-long-name --project shop --as mary "
    "今日中に終わりますか？進み具合を教えてください。",
    "token create --agent mary",
)
SCREENS = (
    *("project list", "agent list", "task list", "task list --project shop", "status", "work"),
    *("inbox", "session list", "token list", "audit list", "policy grants", "runs list"),
    *("messages worker-with-a-long-name --project shop", "plugins list", "doctor"),
)


def main() -> int:
    """Print every screen; return whether all of them fit."""
    wide = [line for locale in sys.argv[1:] or ("ja", "en") for line in _screens(locale)]
    for line in wide:
        sys.stdout.write(f"TOO WIDE ({cell_len(line)}): {line}\n")
    return 1 if wide else 0


def _screens(locale: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="aipm-screens-") as place:
        root = Path(place)
        (root / "aipm.toml").write_text(f'locale = "{locale}"\n', encoding="utf-8")
        for command in SETUP:
            _run(root, command)
        task = _run(root, "task list").splitlines()[2].split()[0]
        for command in (*SCREENS, f"task show {task}", f"task history {task}"):
            shown = _run(root, command)
            sys.stdout.write(f"\n$ aipm {command}   # {locale}\n{shown}")
            yield from (line for line in shown.splitlines() if cell_len(line) > WIDTH)


def _run(root: Path, command: str) -> str:
    environ = {**os.environ, "COLUMNS": str(WIDTH)}
    done = subprocess.run(  # noqa: S603
        [AIPM, *command.split()],
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
