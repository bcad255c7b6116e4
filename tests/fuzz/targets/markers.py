"""Markers in messages, against a parser so slow and plain that one can see it is right."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

from aipm_markers.grammar import GUARDED, WORDS, Action, Grammar
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
    *("`", "``", "```", "~~~", ">", "＞", "\n> ", "    ", "_"),
)
_PIECE = re.compile(rb"[\x00-\x1f\x80-\x8f]")


def read(data: bytes) -> str:
    """Let control bytes stand for whole pieces, so that few bytes say much."""

    def piece(found: re.Match[bytes]) -> bytes:
        number = found[0][0]
        return PIECES[(number if number < 0x20 else number - 0x60) % len(PIECES)].encode()

    return _PIECE.sub(piece, data).decode("utf-8", errors="replace")


def lines_of(content: str) -> Iterator[tuple[int, int]]:
    """Return where each line begins and ends, without what ends it."""
    start = 0
    for at, letter in enumerate(content):
        if letter in "\r\n":
            if not (letter == "\n" and content[at - 1 : at] == "\r"):
                yield start, at
            start = at + 1
    yield start, len(content)


def run_at(content: str, at: int, letters: str) -> int:
    end = at
    while end < len(content) and content[end] in letters:
        end += 1
    return end - at


def fence_of(bare: str) -> tuple[str, int]:
    """Return the letter and the length of the fence that a line opens; 0 for none."""
    sign = bare[:1]
    long = run_at(bare, 0, sign) if sign in ("`", "~") else 0
    opens = long >= 3 and not (sign == "`" and "`" in bare[long:])
    return sign, long if opens else 0


def own(content: str) -> str:
    """Put a backtick in place of every letter of code and quotes."""
    letters = list(content)

    def hide(start: int, end: int) -> None:
        letters[start:end] = [x if x in "\r\n" else "`" for x in content[start:end]]

    fence = ("", 0)
    begun = 0  # where the paragraph before began
    for start, end in lines_of(content):
        bare = content[start:end].strip()
        if fence[1]:
            hide(start, end)
            fence = ("", 0) if len(bare) >= fence[1] and set(bare) == {fence[0]} else fence
        elif bare == "" or bare[0] in ">＞" or fence_of(bare)[1]:
            hide_code(content, begun, start, hide)
            hide(start, start + len(content[start:end].rstrip()))
            fence = fence_of(bare)
        else:
            continue
        begun = end
    hide_code(content, begun, len(content), hide)
    return "".join(letters)


def hide_code(content: str, start: int, end: int, hide: Callable[[int, int], None]) -> None:
    text, at = content[:end], start
    while at < end:
        long = run_at(text, at, "`")
        close = at + long
        while long and close < end and (other := run_at(text, close, "`")) != long:
            close += other or 1
        if long and close < end:
            hide(at, close + long)
            at = close
        at += long or 1


def begins_line(text: str, at: int) -> bool:
    back = at
    while back > 0 and text[back - 1] in " \u3000":
        back -= 1
    return at - back < 4 and (back == 0 or text[back - 1] in "\r\n")


def stands_alone(text: str, end: int) -> bool:
    rest = text[end:].replace("\r", "\n").partition("\n")[0]
    return rest.strip() == ""


def marker_at(text: str, at: int, words: Mapping[str, str]) -> tuple[str, int] | None:
    """Return action and end of the marker whose at-signs begin here."""
    word_at = at + run_at(text, at, "@＠")
    before = text[at - 1] if at else " "
    here = [word for word in words if text.startswith(word, word_at)]
    if word_at < at + 2 or before in "@＠_" or not here:
        return None
    if unicodedata.category(before)[0] in ("L", "N", "M"):
        return None
    word = max(here, key=len)
    action, end = words[word], word_at + len(word)
    colon = text[end : end + 1] in (":", "：")
    counts = colon
    if action not in GUARDED:
        counts = begins_line(text, at) and (colon or (action in SHORT and stands_alone(text, end)))
    return (action, end + colon) if counts else None


def slowly(content: str, words: Mapping[str, str]) -> list[tuple[str, str]]:
    text = own(content)
    found = [(*marker, at) for at in range(len(text)) if (marker := marker_at(text, at, words))]
    first: dict[str, str] = {}
    for number, (action, end, _) in enumerate(found):
        stop = found[number + 1][2] if number + 1 < len(found) else len(content)
        first.setdefault(action, content[end:stop].strip())
    return list(first.items())


def told(grammar: Grammar, content: str) -> list[tuple[str, str]]:
    return [(marker.action, marker.argument) for marker in grammar.parse(content)]


def check(content: str) -> None:
    grammar, words = GRAMMARS[len(content) % len(GRAMMARS)]
    markers = told(grammar, content)
    assert markers == slowly(content, words)
    quoted = "\n".join(f"> {content[start:end]}" for start, end in lines_of(content))
    fence = "`" * (len(content) + 3)
    assert told(grammar, quoted) == told(grammar, f"{fence}\n{content}\n{fence}") == []
    if not set("`~>＞@＠") & set("".join(argument for _, argument in markers)):
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
        "backticks": lambda size: "` " * (size // 2),
        "runs of backticks": lambda size: "".join("`" * n + " " for n in range(int(size**0.5))),
        "code": lambda size: "`@@タスク作成:` " * (size // 24),
        "fences": lambda size: "```\n" * (size // 4),
        "quotes": lambda size: "> @@完了報告\n" * (size // 24),
        "blanks": lambda size: "@@完了報告" + " " * size,
    },
    words=tuple(piece.encode() for piece in PIECES),
    longest=40,
)
