"""Patterns of topics: which project and which record a wake-up is about."""

from __future__ import annotations

from dataclasses import dataclass

_PROJECT, _ID, _ANY = "{project}", "{id}", "{}"


@dataclass(frozen=True, slots=True)
class Touch:
    """What a topic says has changed; ``None`` is every project, or every record."""

    project_id: str | None
    id: str | None


class TopicPattern:
    """``tasks:{project}:{id}``: words between colons, some of them places."""

    def __init__(self, text: str) -> None:
        self._words = text.split(":")
        self.first = self._words[0]
        places = [word for word in self._words if "{" in word or "}" in word]
        known = all(word in (_PROJECT, _ID, _ANY) for word in places)
        if not self.first or self.first in places or not known:
            raise ValueError(f"{text!r} is no pattern of topics, as 'things:{{project}}:{{id}}' is")

    def match(self, topic: str) -> Touch | None:
        """Return what a topic is about, or ``None`` if it does not fit."""
        words = topic.split(":")
        if len(words) != len(self._words):
            return None
        found: dict[str, str] = {}
        for expected, word in zip(self._words, words, strict=True):
            if expected in (_PROJECT, _ID):
                found[expected] = word
            elif expected not in (_ANY, word):
                return None
        return Touch(found.get(_PROJECT), found.get(_ID))
