"""JSON from outside: refused when it is too deep, ambiguous or not really text.

orjson is faster (0.7 µs against 4 µs for a small request) but takes duplicate keys silently, and
``{"role": "agent", "role": "human"}`` must not mean what the last reader thinks it means.
"""

from __future__ import annotations

import json
from collections import Counter
from math import isinf
from typing import NoReturn

from aipm_core import Json

LARGEST_BODY = 1024 * 1024
LARGEST_OF_STRANGERS = 64 * 1024  # bytes before a valid token is known; 4,000 characters fit
DEEPEST = 64
MOST_KEYS = 1000  # in one object; each that nobody expects costs its reader a complaint
# Ten thousand values take 4 ms to read, a megabyte of ``[[],[],…]`` took 260. A thread would not
# help: the decoder does not let go of the interpreter.
MOST_VALUES = 10_000
_LARGEST = 1 << 63  # what is beyond fits neither the store nor an answer
_SHOWN = 64  # characters of what is wrong
_MOST_QUOTES = 4 * MOST_VALUES + 4  # two for each value, two for its name
_NO_MARKS = bytes(byte for byte in range(256) if byte not in b"[]{},")


class BadJson(ValueError):
    """The text is not JSON we accept; the message says why."""


def parse_json(body: bytes | bytearray) -> Json:
    """Parse UTF-8 JSON strictly: no duplicate keys, NaN, deep nesting or lone surrogates.

    Nor numbers beyond 64 bits, which are lost or break whoever writes them down, nor more values
    than can be read in a moment.
    """
    brackets = body.count(b"[") + body.count(b"{")
    if brackets > DEEPEST or brackets + body.count(b",") > MOST_VALUES:
        _check_structure(body)
    try:
        text = body.decode("utf-8")
        value = _DECODER.decode(text)
    except UnicodeDecodeError as error:
        raise BadJson(f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise BadJson(f"nested deeper than {DEEPEST}") from None
    except BadJson:
        raise
    except ValueError as error:
        raise BadJson(f"not JSON: {error}") from None
    if "\\u" in text:
        _check_surrogates(value)
    return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len(pairs) > MOST_KEYS:
        raise BadJson(f"an object has more than {MOST_KEYS} keys")
    made = dict(pairs)
    if len(made) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise BadJson(f"the key {twice[:_SHOWN]!r} appears twice in one object")
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is not JSON")


def _integer(text: str) -> int:
    number = int(text) if len(text) < 21 else _LARGEST  # noqa: PLR2004 - digits of 64 bits
    if not -_LARGEST <= number < _LARGEST:
        raise BadJson("a number has more than 64 bits")
    return number


def _fraction(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise BadJson("a number is too large")
    return number


# Kept: ``json.loads`` with these options makes a decoder for every text, a third of its cost.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_refuse_constant,
    parse_int=_integer,
    parse_float=_fraction,
)


def _check_structure(body: bytes | bytearray) -> None:
    """Count what stands outside strings: commas and opening brackets, each before one value."""
    without_escapes = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if without_escapes.count(b'"') > _MOST_QUOTES:
        raise BadJson(f"more than {MOST_VALUES} values")
    outside_strings = b"".join(without_escapes.split(b'"')[::2])
    marks = outside_strings.translate(None, _NO_MARKS)
    if len(marks) - marks.count(b"]") - marks.count(b"}") > MOST_VALUES:
        raise BadJson(f"more than {MOST_VALUES} values")
    depth = 0
    for bracket in marks.replace(b",", b""):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            raise BadJson(f"nested deeper than {DEEPEST}")


def _check_surrogates(value: Json) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise BadJson("holds half of a surrogate pair, which is not text") from None
