"""The pictures in docs/ show what the program does now."""

import subprocess
import sys
from pathlib import Path

from aipm_core.demo.narrator import Step
from tools.demo_picture import draw, words

REPOSITORY = Path(__file__).parent.parent


def test_the_picture_of_the_demo_tells_its_story() -> None:
    tool = REPOSITORY / "tools" / "demo_picture.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_another_story_is_another_picture() -> None:
    told = draw([Step("act", "anna", "says <b>hello</b>", "& more")])
    assert words(told)[-5:] == ["anna", "says", "<b>hello</b>", "&", "more"]


def test_pictures_load_nothing_from_elsewhere() -> None:
    for file in (REPOSITORY / "docs").rglob("*.svg"):
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text
        assert "<script" not in text
