"""JSON from outside: what is refused, whatever it is dressed up as."""

import json

import pytest
from aipm_http_server.strict_json import DEEPEST, MOST_VALUES, BadJson, parse_json
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.text('[]{}"\\\\ax\u3042', max_size=6) | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=20,
)


@given(value=VALUES, depth=st.integers(0, 130))
def test_depth_is_counted_whatever_stands_in_strings(value: object, depth: int) -> None:
    inner: object = [value, "[" * 100, "\\", '"{', value]
    nested = inner
    for _ in range(depth):
        nested = [nested]
    body = json.dumps(nested).encode()
    if depth + _depth(inner) > DEEPEST:
        with pytest.raises(BadJson, match="nested deeper"):
            parse_json(body)
    else:
        assert parse_json(body) == nested


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((_depth(item) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((_depth(item) for item in value), default=0)
    return 0


@pytest.mark.parametrize(
    "body",
    [
        b'{"role": "agent", "role": "human"}',
        b"NaN",
        b"[1] trailing",
        b"\xff",
        b'"\\ud800"',
        b"\xef\xbb\xbf{}",
        b"[" * 1_000_000,
        b'["\\\\", ' + b"[" * 500 + b"]" * 500 + b', "x"]',
        b"9223372036854775808",
        b"-9223372036854775809",
        b"[" + b"9" * 5_000 + b"]",
        b"1e400",
        b"-1e400",
        json.dumps(dict.fromkeys(map(str, range(1_001)))).encode(),
    ],
)
def test_what_is_not_plain_json_is_refused(body: bytes) -> None:
    with pytest.raises(BadJson):
        parse_json(body)


@pytest.mark.parametrize(
    "value", [2**63 - 1, -(2**63), 0, -7, 1.5, 1e300, dict.fromkeys(map(str, range(1_000)))]
)
def test_what_fits_is_taken_as_it_is(value: object) -> None:
    assert parse_json(json.dumps(value).encode()) == value


def test_the_key_that_appears_twice_is_named_in_few_words() -> None:
    key = "k" * 100_000
    with pytest.raises(BadJson, match="appears twice") as refused:
        parse_json(json.dumps({key: 1})[:-1].encode() + f', "{key}": 2}}'.encode())
    assert len(str(refused.value)) < 200


EMPTY = [b"[]", b"{}", b"0", b"1e9", b'""', b"null", b'{"a":0}', b"[[]]"]


@pytest.mark.parametrize("piece", EMPTY)
def test_there_are_only_so_many_values_in_one_text(piece: bytes) -> None:
    """Each is preceded by a comma or an opening bracket, which is what is counted."""
    brackets = piece.count(b"[") + piece.count(b"{")
    most = MOST_VALUES // (1 + brackets)
    assert len(parse_json(b"[" + b",".join([piece] * most) + b"]")) == most
    with pytest.raises(BadJson, match=f"^more than {MOST_VALUES} values$"):
        parse_json(b"[" + b",".join([piece] * (most + 1)) + b"]")


def test_marks_in_strings_are_no_values() -> None:
    text = ',[{"\\' * MOST_VALUES
    assert parse_json(json.dumps({"text": text}).encode()) == {"text": text}
    many = [text[:20]] * (MOST_VALUES // 2)
    assert parse_json(json.dumps(many).encode()) == many


def test_quotes_without_end_are_not_taken_apart() -> None:
    with pytest.raises(BadJson, match="more than"):
        parse_json(b"[" * 65 + b'"' * 1_000_000)
