"""Wherever a token can stand in a call over MCP: what is ambiguous is refused."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.security import grid
from tests.security.attacked_team import AttackedTeam, serving
from tests.security.authorisation_table import HEADERS, WORDS

ROWS = {name: row["outcome"] for name, row in grid.read(HEADERS, WORDS).items()}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("headers")) as made:
        yield made


@pytest.fixture(scope="module")
def token(team: AttackedTeam) -> str:
    return team.session("ann", "chat").token or ""


@pytest.mark.parametrize("place", ROWS)
def test_where_a_token_may_stand(team: AttackedTeam, token: str, place: str) -> None:
    headers, arguments, more = _carried(place, token)
    meta = {"_meta": {"session_token": token}} if place == "in `_meta`" else {}
    params = {"name": "get_my_task", "arguments": arguments, **meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = _post(team, json.dumps(message).encode(), headers, more)
    envelope = reply["result"]["structuredContent"] if "jsonrpc" in reply else reply
    assert ("ok" if "result" in envelope else envelope["error"]["code"]) == ROWS[place]


def _carried(place: str, token: str) -> tuple[list[str], dict[str, Any], str]:
    right, wrong = f"Authorization: Bearer {token}", "Authorization: Bearer aipm_st_unknown"
    unfilled, argument = "Authorization: Bearer ${AIPM_SESSION_TOKEN}", {"session_token": token}
    made: dict[str, tuple[list[str], dict[str, Any], str]] = {
        "in the header": ([right], {}, ""),
        "in the header, the scheme in small letters": ([right.replace("Bearer", "bearer")], {}, ""),
        "in the header and the same as argument": ([right], argument, ""),
        "in the header twice": ([right, right], {}, ""),
        "in the header twice, and as argument": ([right, right], argument, ""),
        "in the header after an unknown one": ([wrong, right], {}, ""),
        "in the header before an unknown one": ([right, wrong], {}, ""),
        "an unknown one in the header, the right one as argument": ([wrong], argument, ""),
        "in the header, without its last character": ([right[:-1]], {}, ""),
        "in the header with the scheme Basic": ([right.replace("Bearer", "Basic")], {}, ""),
        "a place nobody filled in (`${AIPM_SESSION_TOKEN}`) in the header": ([unfilled], {}, ""),
        "a place nobody filled in in the header, the right one as argument": (
            *([unfilled], argument),
            "",
        ),
        "an empty argument, the right one in the header": ([right], {"session_token": ""}, ""),
        "as argument, but a number": ([], {"session_token": 7}, ""),
        "in the address": ([], {}, f"?session_token={token}&token={token}"),
        "as a cookie": ([f"Cookie: session_token={token}; Authorization={token}"], {}, ""),
        "in `_meta`": ([], {}, ""),
    }
    return made[place]


def _post(team: AttackedTeam, body: bytes, headers: list[str], query: str) -> dict[str, Any]:
    """Send exactly these headers; clients of HTTP would put them in order first."""
    host = urlsplit(team.server.url).netloc
    head = [
        f"POST /mcp{query} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    name, port = host.split(":")
    with socket.create_connection((name, int(port)), timeout=30) as wire:
        wire.sendall("\r\n".join([*head, "", ""]).encode() + body)
        answer = b"".join(iter(lambda: wire.recv(65536), b""))
    start = answer.index(b"{", answer.index(b"\r\n\r\n"))
    told: dict[str, Any] = json.loads(answer[start : answer.rindex(b"}") + 1])
    return told
