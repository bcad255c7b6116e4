"""X1 and X4 on the command line: one sentence or success, and nothing that acts on a terminal."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import cycle, islice

import pytest

from tests.security.attacked_team import AttackedTeam, serving
from tests.security.command_lines import LINES, PATHS, described, words_of
from tests.security.corpora import IDS, TEXTS
from tests.security.forks import Done, Forks, forks

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
INPUTS = [text for text in (*IDS, *TEXTS) if "\x00" not in text]
PLACES = [(command, place) for command, given in LINES.items() for place in given]
FEW = 1


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("commands") / "deep" / "below") as made:
        yield made


@pytest.fixture(scope="module")
def aipm(team: AttackedTeam) -> Iterator[Forks]:
    with forks(team.install.root, {**team.install.env(), "FORCE_COLOR": "1"}) as made:
        yield made


def tame(text: str) -> bool:
    """Return whether a terminal shows this text and does nothing else."""
    return all(
        character in "\n\t\u200d"
        or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        for character in COLOUR.sub("", text)
    )


def check(done: Done, words: list[str]) -> None:
    told = f"{words!r}: {done}"
    assert "Traceback" not in done.err, told
    assert done.code in {0, 1, 2, 3, 4}, told
    assert tame(done.out), told
    assert tame(done.err), told
    verdict = words[:2] in (["audit", "verify"], ["plugins", "check"]) or words[0] == "doctor"
    if done.code and not verdict:
        assert done.err.count("\n") == 1, told
        assert done.err.startswith("aipm: "), told


def test_every_command_and_all_its_places_are_known() -> None:
    found = dict(described())
    assert found.keys() == LINES.keys()
    for command, places in found.items():
        assert places <= LINES[command].keys() | {"--config", "--server", "--as"}, command


def inside(team: AttackedTeam, place: str, value: str) -> bool:
    """Keep what is written at the caller's will within the test's own directory."""
    if place not in PATHS:
        return True
    root = team.install.root
    return (root / value).resolve().is_relative_to(root.parent.parent) and value not in ("", ".")


@pytest.mark.parametrize(("command", "place"), PLACES)
def test_a_bad_word(team: AttackedTeam, aipm: Forks, command: str, place: str) -> None:
    """Every place gets a few, so that each is used; all of them in the long form."""
    start = PLACES.index((command, place)) * FEW
    tried = islice(cycle(INPUTS), start, start + FEW)
    _try(team, aipm, command, place, tried)


@pytest.mark.parametrize("place", sorted(PATHS))
def test_a_name_no_file_can_have(team: AttackedTeam, aipm: Forks, place: str) -> None:
    for command in (command for command, given in LINES.items() if place in given):
        _try(team, aipm, command, place, iter(["a" * 5000]))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("command", "place"), PLACES)
def test_every_bad_word(team: AttackedTeam, aipm: Forks, command: str, place: str) -> None:
    _try(team, aipm, command, place, iter(INPUTS))


def _try(team: AttackedTeam, aipm: Forks, command: str, place: str, inputs: Iterator[str]) -> None:
    for number, value in enumerate(inputs):
        if inside(team, place, value):
            words = words_of(command, {place: value})
            check(aipm.run(*words), words)
            if number % 2:
                words = [*words_of(command, {place: value})]
                words.insert(len(command.split(" ")), "--json")
                done = aipm.run(*words)
                check(done, words)
                assert done.code or json.loads(done.out)["v"] == 1


def test_words_that_are_no_text(team: AttackedTeam, aipm: Forks) -> None:
    """Bytes that are no UTF-8 reach a program as half surrogates."""
    for command, place in PLACES:
        if place not in PATHS:
            words = words_of(command, {place: "\udcff\udc80x"})
            check(aipm.run(*words), words)


ALL = " · ".join(text for text in TEXTS if len(text) < 200)


@pytest.fixture(scope="module")
def told(team: AttackedTeam, aipm: Forks) -> str:
    """Put every text wherever a text is kept; return the id of a task that has them all."""
    ann, task = team.session("ann", "chat"), team.session("ann", "task")
    for text in TEXTS:
        ann.result("send_message", target_agent_id="mia", content=f"said {text}")
        task.result("create_task", title=f"said {text}"[:200])
        task.result("request_task", title=f"said {text}"[:200])
    shown = ALL.replace("\x00", "")  # no word of a command can hold it
    aipm.run("project", "add", "shown", f"--name={shown}")
    aipm.run("agent", "add", "shown", "--project=p", f"--name={shown}", "--type=human")
    aipm.run("say", "ann", "--project=p", "--as=mia", shown)
    made = task.result("create_task", title="all of it", description=ALL)["task"]
    for status in ("todo", "in_progress", "blocked"):
        task.result("update_task_status", task_id=made["id"], status=status, reason=ALL)
    return str(made["id"])


SHOWN = {
    "project list": ("project", "list"),
    "agent list": ("agent", "list"),
    "task list": ("task", "list", "--project", "p", "--limit", "200"),
    "task show": ("task", "show", "{task}"),
    "task history": ("task", "history", "{task}"),
    "messages": ("messages", "mia", "--project", "p", "--limit", "200"),
    "found messages": ("messages", "mia", "--project", "p", "--search", "said"),
    "inbox": ("inbox",),
    "status": ("status",),
    "work": ("work",),
    "audit list": ("audit", "list"),
    "token list": ("token", "list"),
}


@pytest.mark.parametrize("command", SHOWN)
def test_what_is_shown_acts_on_nothing(aipm: Forks, told: str, command: str) -> None:
    for more in ((), ("--json",)):
        words = [word.format(task=told) for word in (*SHOWN[command], *more)]
        done = aipm.run(*words)
        check(done, words)
        assert done.code == 0
    if command in {"task list", "messages"}:  # for machines it is exactly what was said
        found = json.dumps(json.loads(done.out)["data"], ensure_ascii=False)
        for text in TEXTS:
            assert json.dumps(f"said {text}"[:200], ensure_ascii=False)[1:-1] in found
