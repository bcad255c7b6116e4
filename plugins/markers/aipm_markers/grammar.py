"""What a marker looks like, and what it stands for.

Two at-signs of any width, a command word, a colon of any width, in the sender's own words and not
inside a word. What the server carries out itself stands at the start of a line; those of these
commands that need no argument may stand alone on it, without a colon.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aipm_markers.prose import own_words

GuardedTool: TypeAlias = Literal["request_task", "notify_task_session", "update_task_from_chat"]
Report: TypeAlias = Literal["task_status", "report_blocked", "report_done"]
Action: TypeAlias = GuardedTool | Report

GUARDED: tuple[GuardedTool, ...] = ("request_task", "notify_task_session", "update_task_from_chat")
WORDS: Mapping[str, Action] = {
    "タスク作成": "request_task",
    "タスク通知": "notify_task_session",
    "タスク調整": "update_task_from_chat",
    "タスク確認": "task_status",
    "ブロック報告": "report_blocked",
    "完了報告": "report_done",
    "create-task": "request_task",
    "notify-task": "notify_task_session",
    "adjust-task": "update_task_from_chat",
    "task-status": "task_status",
    "report-blocked": "report_blocked",
    "report-done": "report_done",
}
_NEEDS_NO_COLON: frozenset[Action] = frozenset({"task_status", "report_done"})
_INDENT = 3  # blanks that may stand before a command at the start of a line; more is code
_BLANKS = " \u3000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One command in a message, and the text behind it."""

    action: Action
    argument: str


class Grammar:
    """The markers of one configuration."""

    def __init__(self, more_words: Mapping[str, Action]) -> None:
        self._actions = {**WORDS, **more_words}
        # A longer word first, so that one that begins with another is not cut short.
        words = sorted(self._actions, key=len, reverse=True)
        word = "|".join(map(re.escape, words))
        self._pattern = re.compile(rf"(?<![@＠])[@＠]{{2,}}+({word})([:：]?)")

    def parse(self, content: str) -> list[Marker]:
        """Return the markers of a message; of several of one kind the first."""
        found: dict[Action, Marker] = {}
        matches = list(self._matches(content))
        for number, match in enumerate(matches, 1):
            action = self._actions[match[1]]
            end = matches[number].start() if number < len(matches) else len(content)
            argument = content[match.end() : end].strip()
            found.setdefault(action, Marker(action=action, argument=argument))
        return list(found.values())

    def _matches(self, content: str) -> Iterator[re.Match[str]]:
        own = own_words(content)
        for match in self._pattern.finditer(own):
            if not _in_word(own, match.start()) and self._counts(own, match):
                yield match

    def _counts(self, own: str, match: re.Match[str]) -> bool:
        action = self._actions[match[1]]
        if action in GUARDED:
            return bool(match[2])
        if not _begins_line(own, match.start()):
            return False
        return bool(match[2]) or (action in _NEEDS_NO_COLON and _ends_line(own, match.end()))


def _in_word(text: str, place: int) -> bool:
    """Return whether a letter, a digit, an accent or an underscore stands right before a place."""
    before = text[place - 1 : place]
    return before == "_" or (before != "" and unicodedata.category(before)[0] in "LNM")


def _begins_line(text: str, place: int) -> bool:
    line = text.rfind("\n", max(0, place - _INDENT - 1), place) + 1
    return place - line <= _INDENT and not text[line:place].strip(_BLANKS)


def _ends_line(text: str, place: int) -> bool:
    end = text.find("\n", place)
    return not text[place : end if end >= 0 else None].strip()
