"""The demo is the whole program at work, so it is also a test of it."""

import json
from pathlib import Path

import pytest
from aipm_devkit.program import Install


@pytest.mark.parametrize("locale", ["en", "ja"])
def test_the_tour_shows_everything_it_promises(tmp_path: Path, locale: str) -> None:
    done = Install(tmp_path).run("demo", "--fast", "--json", "--locale", locale)
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    acts = list(dict.fromkeys(step["act"] for step in steps))
    assert acts == ["message", "marker", "interrupt", "delegation", "confirmation", "run"]
    told = " ".join(step["text"] for step in steps)
    assert "one marker, one task" in told
    assert "it does not run" in told
    assert "reads all 6 messages" in told
    assert "approves; 2 messages go out" in told
    assert list(tmp_path.iterdir()) == []


def test_a_person_without_a_terminal_gets_plain_lines(tmp_path: Path) -> None:
    done = Install(tmp_path).run("demo", "--fast")
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("A real server, three scripted agents")
