"""Adapters and the failures of real programs, played by a fake one that is a real process."""

import pytest
from aipm_runner.adapters.acp import ACP
from aipm_runner.adapters.claude import CLAUDE
from aipm_runner.adapters.codex import CODEX
from aipm_runner.adapters.gemini import GEMINI
from aipm_runner.adapters.opencode import OPENCODE
from aipm_runner.api import RunnerAdapter
from aipm_runner.conformance.fake_protocols import RESETS_AT
from aipm_runner.conformance.rules import launch_faults
from aipm_runner.conformance.trial import EXPECTED, TOKEN, tried

ALL = [CLAUDE, CODEX, ACP, GEMINI, OPENCODE]
PROTOCOLS = [CLAUDE, CODEX, ACP]


def name(adapter: object) -> str:
    return adapter.name if isinstance(adapter, RunnerAdapter) else str(adapter)


@pytest.mark.parametrize("scenario", EXPECTED)
@pytest.mark.parametrize("adapter", PROTOCOLS, ids=name)
async def test_each_failure_has_its_end(adapter: RunnerAdapter, scenario: str) -> None:
    result = await tried(adapter, scenario)
    assert result.end == EXPECTED[scenario], result.log
    assert not result.left
    assert all(len(line) < 40_000 for line in result.log)
    assert TOKEN not in " ".join(result.log)


@pytest.mark.parametrize("adapter", ALL, ids=name)
async def test_a_native_call_runs_only_if_it_is_allowed(adapter: RunnerAdapter) -> None:
    allowed = await tried(adapter, "work")
    refused = await tried(adapter, "work", allowed=False)
    unknown = await tried(adapter, "unknown_tool")
    assert (allowed.asked, allowed.ran) == (("Bash touch ran",), True)
    assert (refused.asked, refused.ran) == (("Bash touch ran",), False)
    assert not unknown.ran


@pytest.mark.parametrize("adapter", PROTOCOLS, ids=name)
async def test_tokens_count_once_for_each_message(adapter: RunnerAdapter) -> None:
    result = await tried(adapter, "work")
    assert result.tokens == 100
    assert result.cost_usd == (0.5 if adapter.abilities.cost else None)


@pytest.mark.parametrize("adapter", [CLAUDE, CODEX], ids=name)
async def test_a_limit_says_until_when(adapter: RunnerAdapter) -> None:
    assert (await tried(adapter, "quota")).limit_until == RESETS_AT
    assert (await tried(adapter, "quoting")).limit_until is None


@pytest.mark.parametrize("adapter", [CODEX, ACP], ids=name)
async def test_a_resume_that_is_refused_begins_anew(adapter: RunnerAdapter) -> None:
    result = await tried(adapter, "work", resume="gone")
    assert (result.end, result.ran) == ("ok", True)
    assert any("a new conversation begins" in line for line in result.log)


@pytest.mark.parametrize("adapter", ALL, ids=name)
async def test_nothing_secret_is_where_others_see_it(adapter: RunnerAdapter) -> None:
    launch = (await tried(adapter, "two_results")).launch
    assert launch_faults(adapter) == []
    assert TOKEN not in " ".join(launch.words)
    assert TOKEN not in " ".join(launch.environment.values())
    assert launch.environment["HOME"].endswith("run_trial")
