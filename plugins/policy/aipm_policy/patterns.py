"""Whether a pattern fits the commands of a shell's line: for certain, or possibly."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import chain, takewhile

from aipm_policy.shell import WRAPPERS, Part
from aipm_policy.shell_words import Word, join_words

_NEEDS_QUOTES = re.compile(r"[\s'\"]|^$")
_CLASS = re.compile(r"\[!?\]?[^\[\]]*\]")  # ends at the next "[": linear
_WILD = re.compile(r"[*?\[]")
_LONGEST = 500  # of a text with unknown pieces; what is behind counts as unknown
ANY, ONE = object(), object()


def surely_fits(part: Part, pattern: str) -> bool:
    """Return whether a command is what the pattern says, whatever the shell makes of it."""
    words = (*part.assignments, *part.words)
    sure = [_quoted(word.text) for word in takewhile(lambda word: word.sure, words)]
    if len(sure) == len(words):
        return fnmatchcase(" ".join(sure), pattern)
    # What a shell fills in adds words, never another command: a pattern that ends open fits still.
    start = pattern.removesuffix("*")
    is_open = start != pattern and not _WILD.search(start)
    return is_open and "".join(f"{text} " for text in sure).startswith(start)


def may_fit(part: Part, pattern: str) -> bool:
    """Return whether a command could be what the pattern says, under any of its names."""
    return any(word_may_fit(join_words(words), pattern) for words in _readings(part))


def word_may_fit(word: Word, pattern: str) -> bool:
    """Return whether a text could match once the shell has filled in what is unknown."""
    if None not in word.pieces:
        return fnmatchcase(word.text, pattern)
    return fnmatchcase(word.text, pattern) or _overlap(_tokens(pattern), _of_pieces(word))


def _readings(part: Part) -> Iterator[tuple[Word, ...]]:
    """Yield a command as it stands, and without what only goes before it."""
    whole = (*part.assignments, *part.words)
    yield whole
    starts = range(len(part.words)) if part.program in WRAPPERS else range(1)
    for start in starts:
        words = part.words[start:]
        if not words:
            continue
        plain = (_without_directory(words[0]), *words[1:])
        yield plain
        yield from ((plain[0], *rest) for rest in _without_options(plain[1:]))


def _without_options(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Yield the words behind options that stand first: ``git -C x push`` is ``git push`` too."""
    for place, word in enumerate(words):
        after_option = place > 0 and words[place - 1].text.startswith("-")
        if not word.text.startswith("-") and not after_option:
            return
        yield words[place + 1 :]


def _without_directory(word: Word) -> Word:
    name = word.text.rpartition("/")[2]
    return Word.of(name) if None not in word.pieces and name else word


def _quoted(text: str) -> str:
    return shlex.quote(text) if _NEEDS_QUOTES.search(text) else text


def _tokens(pattern: str) -> list[object]:
    wild = {"*": ANY, "?": ONE}
    return [wild.get(one, one) for one in _CLASS.sub("?", pattern)]


def _of_pieces(word: Word) -> list[object]:
    each = chain.from_iterable([ANY] if piece is None else piece for piece in word.pieces)
    found = [token for token, _ in zip(each, range(_LONGEST + 1), strict=False)]
    return found if len(found) <= _LONGEST else [*found[:_LONGEST], ANY]


def _overlap(one: list[object], other: list[object]) -> bool:
    """Return whether some text fits both; ``ANY`` stands for any text, ``ONE`` for a character."""
    reached = {0}  # places in ``other`` that what was read of ``one`` can lead to
    for token in (*one, None):
        reached = _skip(reached, other)
        if token is None:
            return len(other) in reached
        if token is ANY:
            reached = set(range(min(reached), len(other) + 1)) if reached else reached
        else:
            reached = {
                place if other[place] is ANY else place + 1
                for place in reached
                if place < len(other) and _meet(token, other[place])
            }
    return False


def _skip(reached: set[int], other: list[object]) -> set[int]:
    """Add the places behind an ``ANY``, which may stand for nothing."""
    found = set(reached)
    for place in sorted(reached):
        ahead = place
        while ahead < len(other) and other[ahead] is ANY:
            ahead += 1
            found.add(ahead)
    return found


def _meet(one: object, other: object) -> bool:
    return one is ONE or other is ANY or other is ONE or one == other
