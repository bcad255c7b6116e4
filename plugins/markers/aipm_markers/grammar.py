"""What a marker looks like, and what it stands for.

Two at-signs of any width, a command word, a colon of any width. The words of reports may stand
without a colon, as in seed 002.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

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
        self._pattern = re.compile(f"[@＠]{{2}}({'|'.join(map(re.escape, words))})([:：]?)")

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
        for match in self._pattern.finditer(content):
            if match[2] or self._actions[match[1]] in _NEEDS_NO_COLON:
                yield match
