"""Places in streams and pages: Last-Event-ID, lastSeq, after, limit, and their queries."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import quote

from aipm_cli import discovery
from aipm_cli.program import assemble
from aipm_cli.settings import Settings
from aipm_file_chat.routes import _query, number_of
from aipm_ui_gateway.endpoints.event_stream import EventStreamEndpoint
from aipm_ui_gateway.identity import Identity
from hypothesis import strategies as st

from aipm_core import CallError
from aipm_core.redaction import SECRET
from tests.fuzz.awaiting import awaited
from tests.fuzz.choices import Choices
from tests.fuzz.target import Target

LAST = 41
NAMES = ("session", "lastSeq", "after", "limit", "token", "q", "Auth", "", "sess%69on", "x")
VALUES = (
    *(
        "",
        "0",
        "1",
        "007",
        "-1",
        "+1",
        "1.0",
        " 1",
        "1e3",
        "999999999999999999",
        "9" * 19,
        "9" * 99,
    ),
    *(
        "１",
        "²",
        "%31",
        "%00",
        "%FF",
        "s1",
        "aipm_ui_abcdefghijklmnop",
        "aipm%5Fui_abcdefghijklmnop",
    ),
    *("a&b", "a;b", "%26", "+", "\x00", "é"),
)


class Ask(NamedTuple):
    """A request for a stream or a page, as far as it says from where."""

    query: bytes
    headers: list[tuple[bytes, bytes]]


class Readers(NamedTuple):
    """The real readers, with nothing behind them."""

    door: Any
    identity: Any


@cache
def readers() -> Readers:
    settings = Settings(data_dir=Path("/nowhere"))
    classes = discovery.load(discovery.choose(discovery.installed(), settings), settings)
    runtime = assemble(settings, classes)

    async def yes(*_: object) -> bool:
        return True

    async def last(*_: object) -> int:
        return LAST

    def context(name: str) -> Any:
        ctx = runtime.manager.get_plugin(name).ctx  # type: ignore[union-attr]
        events = SimpleNamespace(last_seq=last)
        return SimpleNamespace(
            refuse=ctx.refuse,
            texts=ctx.texts,
            locale=ctx.locale,
            events=events,
            store=None,
            services=ctx.services,
        )

    ui, follow_access = context("ui_gateway"), SimpleNamespace(begin=yes)
    identity = Identity(ui)
    nothing: Any = None
    return Readers(
        EventStreamEndpoint(ui, nothing, identity, follow_access),  # type: ignore[arg-type]
        identity,
    )


def is_number(text: str) -> bool:
    """A cursor is one to eighteen digits of the plain ten."""
    return 1 <= len(text) <= 18 and all(letter in "0123456789" for letter in text)


def check_stream(ask: Ask) -> None:
    scope = {"query_string": ask.query, "headers": ask.headers}
    try:
        query = readers().identity.query(scope, "session", "lastSeq")
    except CallError as error:
        assert (error.code, error.status) in {("token_in_url", 400), ("invalid_query", 400)}
        return
    assert query.keys() <= {"session", "lastSeq"}
    assert not any(SECRET.search(value) for value in query.values()), "a secret in an address"
    header = [value for name, value in ask.headers if name == b"last-event-id"]
    given = (header[-1].decode("latin-1") if header else "") or query.get("lastSeq") or ""
    try:
        place = awaited(readers().door._place(scope, None, "s1", query.get("lastSeq")))
    except CallError as error:
        assert (error.code, error.status) == ("invalid_query", 400)
        assert given
        assert not is_number(given)
        return
    assert place == (int(given) if given else LAST)
    assert place in range(2**63)


def check_page(ask: Ask) -> None:
    query = _query({"query_string": ask.query})
    for name, least in (("after", 0), ("limit", 1)):
        text = query.get(name)
        if text is None:
            continue
        number = number_of(text, least)
        if is_number(text) and int(text) >= least:
            assert number == int(text)
        else:
            assert number == text, "what is no number is left to the tool, which refuses it"


def check(ask: Ask) -> None:
    check_stream(ask)
    check_page(ask)


def made(pairs: list[tuple[str, str]], header: list[bytes]) -> Ask:
    query = "&".join(f"{name}={value}" for name, value in pairs)
    return Ask(
        quote(query, safe="%&=;+ \x00").encode("ascii"),
        [(b"last-event-id", value) for value in header],
    )


def read(data: bytes) -> Ask:
    choices = Choices(data)
    pairs = [
        (
            choices.pick(NAMES),
            choices.bytes(24).decode("latin-1") if choices.once_in(4) else choices.pick(VALUES),
        )
        for _ in range(choices.byte() % 4)
    ]
    header = [
        choices.bytes(24) if choices.once_in(3) else choices.pick(VALUES).encode()
        for _ in range(choices.byte() % 3)
    ]
    return made(pairs, header)


TARGET = Target[Ask](
    read=read,
    check=check,
    values=st.builds(
        made,
        st.lists(
            st.tuples(
                st.sampled_from(NAMES),
                st.sampled_from(VALUES) | st.text(st.characters(codec="utf-8"), max_size=6),
            ),
            max_size=4,
        ),
        st.lists(st.sampled_from(VALUES).map(str.encode) | st.binary(max_size=6), max_size=2),
    ),
    parse=check_page,
    grown={
        "pairs": lambda size: Ask(b"a=1&" * (size // 4), []),
        "digits": lambda size: Ask(b"after=" + b"9" * size, []),
        "percents": lambda size: Ask(b"after=" + b"%31" * (size // 3), []),
    },
    longest=100,
)
