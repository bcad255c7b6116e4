"""Markers in messages, against a parser so slow and plain that one can see it is right."""

import re
from collections.abc import Mapping

from aipm_markers.grammar import WORDS, Action, Grammar
from hypothesis import strategies as st

from tests.fuzz.target import Target

MORE: Mapping[str, Action] = {
    "タスク": "request_task",
    "タスク作成中": "task_status",
    "todo": "request_task",
    "to": "report_done",
    "a.b*": "notify_task_session",
}
ALL = {**WORDS, **MORE}
SHORT = ("task_status", "report_done")  # these count without a colon
EXTENDED = Grammar(MORE)
GRAMMARS = ((Grammar({}), WORDS), (EXTENDED, ALL))
WORD_OF: dict[str, str] = {action: word for word, action in WORDS.items()}
PIECES = (
    *("@@", "＠＠", "@", "＠", ":", "：", " ", "\n", "\u200b", "本文", *ALL),
    *("Create-Task", "ﾀｽｸ作成", "@@タスク作成:", "＠@完了報告", "\r", "\u3000", "\x00"),
)
_PIECE = re.compile(rb"[\x00-\x1f\x80-\x8f]")


def read(data: bytes) -> str:
    """Let control bytes stand for whole pieces, so that few bytes say much."""
    text = _PIECE.sub(lambda found: PIECES[found[0][0] % len(PIECES)].encode(), data)
    return text.decode("utf-8", errors="replace")


def marker_at(content: str, at: int, words: Mapping[str, str]) -> tuple[str, int, bool] | None:
    """Return action, end and whether it counts, if two at-signs and a word stand here."""
    if len(content) < at + 2 or content[at] not in "@＠" or content[at + 1] not in "@＠":
        return None
    here = [word for word in words if content.startswith(word, at + 2)]
    if not here:
        return None
    word = max(here, key=len)
    end = at + 2 + len(word)
    colon = content[end : end + 1] in (":", "：")
    return words[word], end + colon, colon or words[word] in SHORT


def slowly(content: str, words: Mapping[str, str]) -> list[tuple[str, str]]:
    found: list[tuple[str, int, int]] = []
    free = 0
    for at in (place for place, letter in enumerate(content) if letter in "@＠"):
        marker = marker_at(content, at, words) if at >= free else None
        if marker is not None:
            action, free, counts = marker
            if counts:
                found.append((action, at, free))
    first: dict[str, str] = {}
    for number, (action, _, end) in enumerate(found):
        stop = found[number + 1][1] if number + 1 < len(found) else len(content)
        first.setdefault(action, content[end:stop].strip())
    return list(first.items())


def told(grammar: Grammar, content: str) -> list[tuple[str, str]]:
    return [(marker.action, marker.argument) for marker in grammar.parse(content)]


def check(content: str) -> None:
    grammar, words = GRAMMARS[len(content) % len(GRAMMARS)]
    markers = told(grammar, content)
    assert markers == slowly(content, words)
    if markers:
        printed = "\n".join(f"@@{WORD_OF[action]}: {argument}" for action, argument in markers)
        assert told(grammar, printed) == markers


TARGET = Target[str](
    read=read,
    check=check,
    values=st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join),
    parse=EXTENDED.parse,
    grown={
        "at-signs": lambda size: "@" * (size // 4),
        "wide at-signs": lambda size: "＠ " * (size // 4),
        "words": lambda size: "@@タスク作成" * (size // 16),
        "markers": lambda size: "@@タスク作成:x " * (size // 24),
    },
    words=tuple(piece.encode() for piece in PIECES),
    longest=40,
)
