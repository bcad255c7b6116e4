"""``wire.parse_json``: every body, frame and line goes through it.

The second opinion is orjson, which knows nothing of our decoder, plus the rules of our own spelled
out one by one.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import orjson
from aipm_http_server.strict_json import BadJson, parse_json
from hypothesis import strategies as st

from tests.fuzz.target import Target

DEEPEST = 64  # not taken from the code that is being checked
MOST_VALUES = 10_000
INTEGERS = range(-(2**63), 2**63)


def is_bearable(text: str) -> bool:
    """Count brackets and commas outside strings, character by character."""
    deepest = depth = values = 0
    in_string = escaped = False
    for letter in text:
        if in_string:
            in_string = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_string = True
        elif letter == ",":
            values += 1
        elif letter in "[{":
            values += 1
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest <= DEEPEST and values <= MOST_VALUES


def is_clean(value: Any) -> bool:
    """Look for what a decoder may let pass: numbers that cannot be kept or told to others."""
    if isinstance(value, list):
        return all(map(is_clean, value))
    if isinstance(value, dict):
        return all(map(is_clean, value.values()))
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or value in INTEGERS


def has_twins(body: bytes) -> bool:
    twins = False

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twins
        names = [name for name, _ in pairs]
        twins = twins or len(set(names)) < len(names)
        return dict(pairs)

    loose = json.loads(body, object_pairs_hook=look)
    return twins or not is_clean(loose)


def acceptable(body: bytes) -> bool:
    try:
        orjson.loads(body)
        return is_bearable(body.decode()) and not has_twins(body)
    except (orjson.JSONDecodeError, ValueError):
        return False


def exactly(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def check(body: bytes) -> None:
    try:
        value = parse_json(body)
    except BadJson as error:
        assert str(error).isprintable()
        assert not acceptable(body), error
        return
    assert acceptable(body)
    assert exactly(value) == exactly(orjson.loads(body))
    for printed in (orjson.dumps(value), exactly(value).encode()):
        assert exactly(parse_json(printed)) == exactly(value)


def parse(body: bytes) -> object:
    try:
        return parse_json(body)
    except BadJson:
        return None


def filled(pattern: bytes, last: bytes = b"") -> Callable[[int], bytes]:
    """Make objects whose members follow a pattern with a number in it."""

    def grow(size: int) -> bytes:
        count = size // len(pattern % 0)
        return b"{" + b",".join([pattern % number for number in range(count)]) + last + b"}"

    return grow


def twins_at_the_end(size: int) -> bytes:
    count = size // 12
    return filled(b'"%08d":1', b',"%08d":2' % (count - 1))(size)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats(allow_nan=False)
    | st.text(st.sampled_from('[]{}"\\,:u\u3042\U0001f600a\n'), max_size=8)
)
DOCUMENTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def spoiled(body: bytes, depth: int, at: int, piece: bytes) -> bytes:
    """Nest a text, and put a piece into it."""
    nested = b"[" * depth + body + b"]" * depth
    at %= len(nested) + 1
    return nested[:at] + piece + nested[at:]


WORDS = (
    *(b'"', b"\\", b'\\"', b"\\u", b"\\ud800", b"\\udc00", b"\\u0000", b"[", b"]", b"{", b"}"),
    *(
        b",",
        b":",
        b"null",
        b"true",
        b"1e999",
        b"-0",
        b"NaN",
        b"9223372036854775808",
        b"[" * 60,
        b"]" * 60,
    ),
    *(b'{"a":1,"a":2}', b"\xef\xbb\xbf", b"\xff", "あ".encode(), b'{"a":', b"-Infinity"),
)
TARGET = Target[bytes](
    read=bytes,
    check=check,
    values=st.builds(
        spoiled,
        DOCUMENTS.map(lambda value: json.dumps(value, ensure_ascii=False).encode()),
        st.just(0) | st.integers(55, 68),
        st.integers(0, 200),
        st.just(b"") | st.sampled_from(WORDS),
    ),
    parse=parse,
    grown={
        "members": filled(b'"%08d":1'),
        "twins at the end": twins_at_the_end,
        "brackets": lambda size: b"[" * size,
        "brackets in a string": lambda size: b'"' + b"[" * size + b'"',
        "pairs": lambda size: b"[" + b"[]," * (size // 3) + b"[]]",
        "backslashes": lambda size: b'"' + b"\\\\" * (size // 2) + b'"',
        "escapes": lambda size: b'"' + b"\\u3042" * (size // 6) + b'"',
        "digits": lambda size: b"9" * size,
        "decimals": lambda size: b"0." + b"9" * size,
        "quotes": lambda size: b'"' * size,
        "blanks": lambda size: b" " * size,
    },
    words=WORDS,
    longest=400,
)
