import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aipm_jwt import Jwt
from aipm_sessions.plugin import Sessions
from aipm_sessions.testing import Team

KEY = "k" * 32
GOOD = {"sub": "bo", "project": "p", "aud": "aipm", "exp": 2_000_000_000}


def signed(claims: dict[str, Any], key: str = KEY, alg: str = "HS256") -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": alg}, claims)]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = hmac.new(key.encode(), text, hashlib.sha256).digest()
    return f"{text.decode()}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


async def outcome(aipm_runtime: Callable[..., Any], place: Path, token: str) -> str:
    async with aipm_runtime(Sessions, Jwt, jwt={"key": KEY}, clock=lambda: 1.8e9) as aipm:
        team = Team(aipm, place)
        await team.add_project("p")
        await team.add("bo")
        reply = await aipm.call_with_token("logout", token)
    return str(reply.outcome)


async def test_a_signed_token_opens_agents_tools(
    aipm_runtime: Callable[..., Any], tmp_path: Path
) -> None:
    assert await outcome(aipm_runtime, tmp_path, signed(GOOD)) != "session_invalid"


@pytest.mark.parametrize(
    "token",
    [
        signed(GOOD, key="x" * 32),
        signed(GOOD, alg="none"),
        signed({**GOOD, "exp": 1}),
        signed({**GOOD, "aud": "other"}),
        signed({**GOOD, "sub": "stranger"}),
        signed({**GOOD, "project": "foreign"}),
        "a.b.c",
        "..",
    ],
)
async def test_any_other_is_refused(
    aipm_runtime: Callable[..., Any], tmp_path: Path, token: str
) -> None:
    assert await outcome(aipm_runtime, tmp_path, token) == "session_invalid"
