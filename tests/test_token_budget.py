"""What our tools cost an agent before it has done anything: tokens of their definitions."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from aipm_cli import discovery
from aipm_cli.program import assemble
from aipm_cli.settings import Settings
from aipm_mcp_transport.rendering import definitions
from rs_bpe.bpe import openai  # type: ignore[import-not-found,import-untyped,unused-ignore]

from aipm_core.texts import Locale


def tokens(text: bytes) -> int:
    """Count as the o200k vocabulary does; the package brings the vocabulary with it."""
    counted: int = openai.o200k_base().count(text.decode())
    return counted


def test_the_vocabulary_is_o200k() -> None:
    assert tokens("こんにちは world, authenticate".encode()) == 4
    assert tokens(b'{"type":"object","additionalProperties":false}') == 10


@pytest.mark.parametrize(("locale", "most"), [("ja", 5000), ("en", 3000)])
def test_all_tools_together_stay_within_their_budget(locale: Locale, most: int) -> None:
    own = [found for found in discovery.installed() if found.first_party]
    runtime = assemble(
        Settings(data_dir=Path("unused"), locale=locale), {f.name: f.load() for f in own}
    )
    tools = list(definitions(runtime))
    assert len(tools) >= 26
    costs = {tool["name"]: tokens(orjson.dumps(tool)) for tool in tools}
    assert tokens(orjson.dumps({"tools": tools})) <= most, sorted(
        costs.items(), key=lambda c: -c[1]
    )
