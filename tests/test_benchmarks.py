"""`make bench` measures what it says, and its page says what was measured."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.catalogue import QUESTIONS, find
from benchmarks.conducting import answer
from benchmarks.people import browser, state, streams
from benchmarks.report.losses import lines, losses
from benchmarks.report.page import WINS, page, pages, publish
from benchmarks.results import Results, Row, Section, begin, read
from benchmarks.run import Scale
from benchmarks.sides.bare import Sdk
from benchmarks.sides.installing import NotMeasured
from benchmarks.sides.side import Side
from benchmarks.sides.task_master import TaskMaster
from benchmarks.wire.load import Load

REPOSITORY = Path(__file__).parent.parent
BENCH = (sys.executable, "-m", "benchmarks")
TINY = Scale(1, 0.05, 1, 3, (10, 20), 10, (1,), 0.05, 5.0)


class Silent:
    """Shows nothing."""

    def plan(self, steps: int) -> None: ...
    def begin(self, question: str, steps: int) -> None: ...
    def finish(self) -> None: ...
    def show(self, what: str) -> None: ...
    def advance(self) -> None: ...
    def tell(self, line: str) -> None: ...


def test_durable_messages_of_two_sides_end_to_end() -> None:
    done = subprocess.run(
        [*BENCH, "messages", "--quick", "--json", "--sides", "aipm,MCP SDK"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    results = Results.model_validate_json(done.stdout)
    section = results.questions["messages"]
    assert section.missing == {}
    measured = {(row.side, row.at) for row in section.rows}
    clients = ("1 client", "16 clients", "64 clients")
    assert measured == {(side, at) for side in ("aipm", "MCP SDK") for at in clients}
    for row in section.rows:
        assert row.values["acknowledged"] > 0
        assert row.values["calls_per_second"] > 0
        assert (row.values["lost"], row.values["errors"]) == (0, 0)
    assert not re.search(r"/(tmp|home|root|work|usr)/", done.stdout)


def test_an_unknown_question_is_named() -> None:
    done = subprocess.run(
        [*BENCH, "speed"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "there is no speed; there are throughput" in done.stderr


class Unobtainable(Side):
    """Cannot be installed."""

    name = "gone"

    def prepare(self) -> str:
        raise NotMeasured("it is not on the index")


class Broken(Side):
    """Ends as soon as it is started."""

    name = "broken"

    def prepare(self) -> str:
        return "1"

    def command(self, place: Path, port: int | None) -> list[str]:
        return [sys.executable, "-c", "raise SystemExit('no such luck')"]

    def call(self, work: object, number: int, keys: object) -> dict[str, object]:
        return {"method": "tools/list", "params": {}}


async def test_a_side_that_fails_is_named_and_stops_nobody(tmp_path: Path) -> None:
    results = begin(quick=True)
    sides = [Unobtainable(), Broken(), Sdk()]
    file = tmp_path / "results.json"
    await answer([find("throughput")], sides, TINY, results, Silent(), file)
    assert results.missing == {"gone": "it is not on the index"}
    section = read(file).questions["throughput"]
    assert section.missing == {"broken": "the server ended by itself: no such luck"}
    assert section.sides() == ["MCP SDK"]
    assert len(section.rows) == 5
    text = page(results)
    assert "gone was not measured: it is not on the index" in text
    assert "broken was not measured: the server ended by itself: no such luck" in text


def test_the_audit_of_a_file_of_tasks_finds_what_is_lost_and_only_that(tmp_path: Path) -> None:
    side = TaskMaster()
    side.furnish(tmp_path)
    file = tmp_path / ".taskmaster" / "tasks" / "tasks.json"
    book = json.loads(file.read_text())
    for task in book["master"]["tasks"]:
        task["id"] = str(task["id"])  # as the server writes them
    book["master"]["tasks"][0]["status"] = "done"
    book["master"]["tasks"][1]["status"] = "in-progress"
    book["master"]["tasks"][2]["status"] = "done"
    file.write_text(json.dumps(book))
    ends = [True, True, True, False]  # the fourth client's last call failed
    assert side.audit(tmp_path, 0, [Load(answered_by=[1, 2, 3, 1], ended_well=ends)]) == (3, 3)
    assert side.audit(tmp_path, 0, [Load(answered_by=[1, 1, 2, 1], ended_well=ends)]) == (3, 1)


def row(side: str, at: str, **values: float) -> Row:
    return Row(side=side, at=at, values=values)


def made(**sections: Section) -> Results:
    results = begin(quick=False)
    results.versions = {"aipm": "1", "FastMCP": "2", "MCP SDK": "3"}
    results.questions = sections
    return results


MEMORY = Section(
    rows=[
        row("aipm", "idle", mb=90),
        row("FastMCP", "idle", mb=110),
        row("MCP SDK", "idle", mb=60),
        row("aipm", "after load", mb=100),
        row("FastMCP", "after load", mb=95.2),
        row("MCP SDK", "after load", mb=100.4),
    ]
)
GROWTH = Section(
    rows=[
        row("aipm", "list_tasks, 1,000 stored", p50_ms=0.1, stored=1000),
        row("aipm", "list_tasks, 1,000,000 stored", p50_ms=0.3, stored=1_000_000),
        row("aipm", "send_message, 1,000 stored", p50_ms=1.0, stored=1000),
        row("aipm", "send_message, 1,000,000 stored", p50_ms=1.1, stored=1_000_000),
    ]
)
WAKE = Section(
    rows=[
        row("aipm", "message, one server", p50_ms=3, p99_ms=9),
        row("MCP SDK", "event in memory", p50_ms=2, p99_ms=12),
    ]
)


def test_where_aipm_loses_is_said_and_nothing_else() -> None:
    assert lines(losses(made(memory=MEMORY, growth=GROWTH, wake=WAKE))) == [
        "message, one server, p50: 3.00 ms · MCP SDK 2.00 ms, 1.5×",
        "idle, resident memory: 90 MB · MCP SDK 60 MB, 1.5×",
        "after load, resident memory: 100 MB · FastMCP 95 MB, 1.1×, may be noise",
        "list_tasks, 1,000,000 stored, p50: 0.30 ms · itself with 1,000 0.10 ms, 3.0×",
    ]


def test_more_can_be_the_better_side() -> None:
    slow = Section(rows=[row("aipm", "1 client", calls_per_second=10, p50_ms=1)])
    slow.rows.append(row("FastMCP", "1 client", calls_per_second=20, p50_ms=2))
    slow.rows.append(row("MCP SDK", "1 client", calls_per_second=30, p50_ms=0.5, errors=7))
    assert lines(losses(made(throughput=slow))) == [
        "1 client, calls a second: 10.0/s · FastMCP 20.0/s, 2.0×"
        " · MCP SDK 30.0/s, 3.0×, but 7 of its calls failed",
        "1 client, p50: 1.00 ms · MCP SDK 0.50 ms, 2.0×, but 7 of its calls failed",
    ]


def test_the_page_lists_the_losses_or_says_that_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    publish(made(memory=MEMORY), tmp_path)
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert (
        "## Where aipm loses\n\nMemory:\n\n- idle, resident memory: 90 MB · MCP SDK 60 MB" in text
    )
    assert "idle: 90 MB, 1.2× better than FastMCP (110 MB), 1.5× worse than MCP SDK" in text
    assert WINS not in text
    won = Section(rows=[one for one in MEMORY.rows if (one.side, one.at) != ("MCP SDK", "idle")])
    won.rows = [one for one in won.rows if one.at == "idle"]
    assert WINS in page(made(memory=won))


def test_what_is_published_is_what_the_file_holds(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    publish(made(memory=Section(rows=[row("aipm", "idle", mb=99.4999999)])), tmp_path)
    for name, text in pages(read(tmp_path / "benchmarks" / "results.json")).items():
        assert (tmp_path / name).read_text(encoding="utf-8") == text


def test_what_speaks_against_the_numbers_is_said() -> None:
    results = made(memory=MEMORY)
    results.machine.cores, results.machine.load = 2, 0.5
    assert not re.search("busy with other|Put together", page(results))
    results.machine.load, results.runs = 11.2, 3
    assert "busy with other work (load 11 on 2 cores)" in page(results)
    assert "Put together from 3 runs" in page(results)


def test_a_chart_shows_every_side_and_every_number() -> None:
    drawn = pages(made(memory=MEMORY))["benchmarks/memory.svg"]
    shown = re.findall(r"<text[^>]*>([^<]*)", drawn)
    assert [text for text in shown if text.endswith(" MB")] == [
        *("90 MB", "110 MB", "60 MB", "100 MB", "95 MB", "100 MB")
    ]
    assert shown.count("MCP SDK") == 2
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="14"', drawn)]
    values = [one.values["mb"] for one in MEMORY.rows]
    assert sorted(range(6), key=widths.__getitem__) == sorted(range(6), key=values.__getitem__)


def test_every_question_has_a_chart_and_an_answer_in_the_committed_page() -> None:
    results = read(REPOSITORY / "docs/benchmarks/results.json")
    assert list(results.questions) == [question.name for question in QUESTIONS]
    assert {"aipm", "FastMCP", "MCP SDK"} <= results.versions.keys()
    assert len(results.versions) >= 5, "at least two peers"
    assert all("aipm" in section.sides() for section in results.questions.values())


@pytest.mark.parametrize("change", ["page", "chart"])
def test_a_stale_page_is_noticed(tmp_path: Path, change: str) -> None:
    results = read(REPOSITORY / "docs/benchmarks/results.json")
    before = pages(results)
    results.questions["memory"].rows[0].values["mb"] += 50
    after = pages(results)
    name = {"page": "benchmarks.md", "chart": "benchmarks/memory.svg"}[change]
    assert before[name] != after[name]


def test_results_name_no_machine() -> None:
    text = (REPOSITORY / "docs/benchmarks/results.json").read_text(encoding="utf-8")
    assert not re.search(r"/(tmp|home|root|work|usr)/", text)
    assert set(json.loads(text)["machine"]) == {
        *("cores", "memory_gb", "system", "python", "sqlite", "packages", "load")
    }


def test_what_people_wait_for_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Small, for whether it measures at all: the figures are those of a busy machine."""
    streams.run(count=20, changes=2)
    browser.run(tasks=20, agents=2, changes=2, loads=1)
    state.run(stored=300, samples=1)
    lines = capsys.readouterr().out.splitlines()
    wanted = {
        *("20 streams, 2 changes each: p99", "shell and modules, packed", "first card drawn, warm"),
        *("change asked of another server to its pixel: p95", "news in the page to its frame: p95"),
        *("state, 200 tasks to do and 300 done", "state, 300 tasks to do"),
    }
    figures = {line[:58].strip(): line[58:].split() for line in lines}
    assert wanted <= set(figures), lines
    assert all(float(figures[name][0].replace(",", "")) > 0 for name in wanted)
