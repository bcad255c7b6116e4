"""What a page shows of a line: text for people, whatever a program wrote for its terminal."""

import pytest
from aipm_runner.log_lines import plain, shown

LINE = {"number": 1, "at": "", "stream": "stdout"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\x1b[1;31mred\x1b[0m text", "red text"),
        ("\x1b]0;title\x07words", "words"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\r", "100%"),
        ("a\x08\x00b\x7f", "ab"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b[2K\x1b[1Gdone", "done"),
        ("\x1b", ""),
    ],
)
def test_what_was_written_for_a_terminal_becomes_text(written: str, read: str) -> None:
    assert plain(written) == read


@pytest.mark.parametrize(
    ("stream", "text", "kind", "tool", "rest"),
    [
        ("stdout", 'get_next_action: {"action": "work"}', "tool", "get_next_action", None),
        ("stdout", '→ Bash {"command": "ls"}', "tool", "Bash", '{"command": "ls"}'),
        ("stdout", "\x1b[32mnative:Edit: [1]\x1b[0m", "tool", "native:Edit", "[1]"),
        ("tool", "anything", "tool", None, "anything"),
        ("stdout", "Plan: do it", "text", None, "Plan: do it"),
        ("stderr", 'x: {"a": 1}', "error", None, 'x: {"a": 1}'),
        ("runner", "the log is full", "runner", None, "the log is full"),
    ],
)
def test_the_use_of_a_tool_is_told_from_words(
    stream: str, text: str, kind: str, tool: str | None, rest: str | None
) -> None:
    line = shown({**LINE, "stream": stream, "text": text})
    assert (line["kind"], line.get("tool")) == (kind, tool)
    assert rest is None or line["text"] == rest
