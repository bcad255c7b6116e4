"""Which small rules would spare people the most questions."""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from aipm_core import Json
from aipm_policy.api import Decision, Inquiry
from aipm_policy.config import Rule
from aipm_policy.native_calls import COMMAND, PATH, Piece, is_native, pieces_of
from aipm_policy.rules import Rulebook, is_default

_MOST = 5
_TRIED = 40
_ASK = Decision.REQUIRE_USER_CONFIRMATION


def suggested(asked: Sequence[Inquiry], rulebook: Rulebook) -> list[Json]:
    """Return rules for questions that only a default asks, each with how many it would remove.

    One after the other: each is the best for what the ones before it leave.
    """
    left = [call for call in asked if _only_default(rulebook, call)]
    found: list[Json] = []
    while left and len(found) < _MOST:
        best = max(_candidates(left), key=lambda rule: _gain(rulebook, rule, left), default=None)
        removed = [] if best is None else _removed(rulebook, best, left)
        if best is None or not removed:
            break
        told = best.model_dump(mode="json", exclude_defaults=True)
        found.append({"rule": told, "removes": len(removed)})
        gone = set(map(id, removed))
        left = [call for call in left if id(call) not in gone]
    return found


def _only_default(rulebook: Rulebook, call: Inquiry) -> bool:
    return all(is_default(one) for one in rulebook.verdicts(call) if one.decision is _ASK)


def _gain(rulebook: Rulebook, rule: Rule, calls: Sequence[Inquiry]) -> tuple[int, int]:
    """Compare rules by what they remove; of two that remove as much, the narrower."""
    narrow = sum(len(str(pattern)) for pattern in rule.arguments.values())
    return len(_removed(rulebook, rule, calls)), narrow


def _removed(rulebook: Rulebook, rule: Rule, calls: Iterable[Inquiry]) -> list[Inquiry]:
    with_it = rulebook.with_made({"suggested": rule})
    return [
        call
        for call in calls
        if all(one.decision is Decision.ALLOW for one in with_it.verdicts(call))
    ]


def _candidates(calls: Sequence[Inquiry]) -> list[Rule]:
    """Return rules that fit single calls, those that fit the most first."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for call in calls:
        seen.update(set(_patterns(call)))
    rules: dict[tuple[str, str, str], Rule] = {}
    for tool, name, pattern in (key for key, _ in seen.most_common(_TRIED)):
        about: dict[str, str] = {name: pattern} if name else {}
        rules[tool, name, pattern] = Rule(tool=tool, decision=Decision.ALLOW, arguments=about)
    return list(rules.values())


def _patterns(call: Inquiry) -> Iterator[tuple[str, str, str]]:
    tool = call.tool.name
    if not is_native(call):
        yield tool, "", ""
        return
    for piece in pieces_of(call):
        for pattern in _command_patterns(piece):
            yield tool, COMMAND, pattern
    path, url = call.args.get(PATH), call.args.get("url")
    if isinstance(path, str) and "*" not in path:
        yield tool, PATH, posixpath.join(posixpath.dirname(path), "*")
    if isinstance(url, str) and (host := urlsplit(url).netloc):
        yield tool, "url", f"{urlsplit(url).scheme}://{host}/*"


def _command_patterns(piece: Piece) -> Iterator[str]:
    """Yield a command's name with its first word, and the whole command if it is short."""
    words = piece.part.words if piece.part is not None else ()
    if len(words) == 0 or not all(word.sure for word in words[:2]):
        return
    texts = [word.text for word in words]
    if any(set(text) & set("*?[ '\"") for text in texts[:2]):
        return
    yield " ".join(texts[:2]) + ("*" if len(texts) > 1 else "")


def grouped(changed: Iterable[tuple[str, str, str, str, str]], most: int = 50) -> list[Json]:
    """Put calls together that changed in the same way, the most frequent first."""
    times: dict[tuple[str, str, str, str, str], int] = defaultdict(int)
    for one in changed:
        times[one] += 1
    ordered = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    names = ("tool", "what", "before", "after", "rule")
    return [{**dict(zip(names, key, strict=True)), "times": n} for key, n in ordered[:most]]
