"""The picture of the demo in docs/ shows what the program does now."""

import subprocess
import sys

from aipm_demo.output import Step

from tools import demo_picture
from tools.demo_picture import draw, words


def test_the_picture_of_the_demo_tells_its_story() -> None:
    tool = [sys.executable, demo_picture.__file__, "--check"]
    done = subprocess.run(tool, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_another_story_is_another_picture() -> None:
    told = draw([Step("act", "anna", "says <b>hello</b>", "& more")])
    assert words(told)[-5:] == ["anna", "says", "<b>hello</b>", "&", "more"]
