"""The headers that decide who is asking and whether he may: bearer, media types, Host, Origin."""

from aipm_http_server.bearer import bearer
from aipm_http_server.guard import Guard
from aipm_http_server.settings import ServerSettings
from aipm_mcp_transport.headers import Head
from hypothesis import strategies as st

from tests.fuzz.choices import Choices
from tests.fuzz.target import Target

Headers = list[tuple[bytes, bytes]]
HOSTS = (b"127.0.0.1:8137", b"localhost:8137", b"[::1]:8137", b"team.example")
ORIGINS = (*(b"http://" + host for host in HOSTS[:3]), b"https://ui.example")
NAMES = (
    *(b"authorization", b"host", b"origin", b"content-length", b"content-type", b"accept"),
    *(b"mcp-session-id", b"mcp-protocol-version", b"x-other"),
)
VALUES = (
    *(b"Bearer abc", b"bearer  abc ", b"BEARER\tabc", b"Bearer", b"Basic abc", b"$TOKEN", b""),
    *(*HOSTS, *ORIGINS, b"evil.example", b"null", b"LOCALHOST:8137", b"127.0.0.1:8137 "),
    *(b"1048576", b"1048577", b"9" * 5000, b"-1", b"1_0", b"application/json", b"*/*"),
    *(b"application/json; charset=utf-8", b"application/json, text/event-stream", b"text/*"),
    *(b"Bearer ${AIPM_SESSION_TOKEN}", b"Bearer \xff", b"Bearer a b"),
)
GUARD = Guard(
    lambda *_: None,  # type: ignore[arg-type]
    ServerSettings(allowed_hosts=("Team.example",), allowed_origins=("https://UI.example",)),
    8137,
    lambda _: None,  # type: ignore[arg-type, return-value]
)


def read(data: bytes) -> Headers:
    choices = Choices(data)
    return [
        (choices.pick(NAMES), choices.bytes() if choices.once_in(3) else choices.pick(VALUES))
        for _ in range(choices.byte() % 8)
    ]


def all_of(headers: Headers, name: bytes) -> list[bytes]:
    return [value for given, value in headers if given == name]


def token_of(headers: Headers) -> str | None:
    """The rule: exactly one header, the word bearer, a space, the token."""
    values = all_of(headers, b"authorization")
    if len(values) != 1 or values[0][:7].lower() != b"bearer ":
        return None
    return values[0][7:].decode("latin-1").strip() or None


def check_token(headers: Headers) -> None:
    token = token_of(headers)
    assert (bearer(headers) or None) == token
    assert (bearer(headers) is None) == (not all_of(headers, b"authorization"))
    expected = None if token is None or token.startswith("$") else token
    # Two readers of one header must never see two different callers.
    assert (Head.read(headers).credential or None) == expected


def check_door(headers: Headers) -> None:
    hosts = [host.lower() for host in all_of(headers, b"host")]
    origins = [origin.lower() for origin in all_of(headers, b"origin")]
    lengths = [v for v in all_of(headers, b"content-length") if v.isdigit()]
    too_long = any(len(v.lstrip(b"0")) > 7 or int(v) > 1024 * 1024 for v in lengths)
    expected = {421} if len(hosts) != 1 or hosts[0] not in HOSTS else set[int]()
    expected |= {403} if any(origin not in ORIGINS for origin in origins) else set()
    expected |= {413} if too_long else set()
    refusal = GUARD._refusal(headers)
    assert (refusal is None) == (not expected)
    assert refusal is None or refusal[0] in expected


def check_kinds(headers: Headers) -> None:
    head = Head.read(headers)
    kinds = all_of(headers, b"content-type")[-1:]
    plain = [kind.split(b";")[0].strip().lower() for kind in kinds]
    if head.is_json:
        assert b"application/json" in plain[0].split(b",")[0].strip() if plain else False
    accepts = b",".join(all_of(headers, b"accept")[-1:]).lower()
    if head.takes_streams:
        assert b"*/*" in accepts or (b"application/" in accepts and b"text/" in accepts)


def check(headers: Headers) -> None:
    check_token(headers)
    check_door(headers)
    check_kinds(headers)


TARGET = Target[Headers](
    read=read,
    check=check,
    values=st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.binary(max_size=12)),
        max_size=6,
    ),
    parse=lambda headers: (bearer(headers), Head.read(headers).takes_streams),
    grown={
        "accept": lambda size: [(b"accept", b"," * size)],
        "token": lambda size: [(b"authorization", b"Bearer " + b" " * size)],
        "many": lambda size: [(b"authorization", b"Bearer a")] * (size // 16),
    },
    words=VALUES,
)
