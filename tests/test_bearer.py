"""One reading of the Authorization header for every route."""

import pytest
from aipm_http_server.bearer import bearer
from aipm_mcp_transport.headers import Head


@pytest.mark.parametrize(
    ("values", "token"),
    [
        ([], None),
        ([b"Bearer abc"], "abc"),
        ([b"bearer  abc "], "abc"),
        ([b"Bearer"], ""),
        ([b"Bearer "], ""),
        ([b"Basic abc"], ""),
        ([b"abc"], ""),
        ([b"Bearer abc", b"Bearer abc"], ""),
        ([b"Bearer abc", b"Basic x"], ""),
    ],
)
def test_only_one_plain_token_is_a_token(values: list[bytes], token: str | None) -> None:
    headers = [(b"host", b"x"), *((b"authorization", value) for value in values)]
    assert bearer(headers) == token
    assert (Head.read(headers).credential or None) == (token or None)
