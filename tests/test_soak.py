"""The soak: a tiny one so that it does not rot, and the real one of half an hour."""

from pathlib import Path

import pytest

from tests.soak.report import reported
from tests.soak.running import Plan, soaked


async def test_a_tiny_soak(tmp_path: Path) -> None:
    """Too short to say anything about memory: no error, no gap, no descriptor left open."""
    plan = Plan(seconds=8, pairs=2, people=2, stretches=2, pause=0)
    soak = await soaked(tmp_path, plan)
    report = reported(soak, long=False)
    assert report.wrong == [], report.text()
    assert soak.place.tally.cycles >= 2 * plan.pairs
    assert soak.place.tally.provoked.keys() >= {"marker_already_used", "replaced"}
    assert soak.events > 100


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_half_an_hour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(await soaked(tmp_path, Plan(seconds=1800)))
    with capsys.disabled():
        print(f"\n{report.text()}")
    assert report.wrong == []
