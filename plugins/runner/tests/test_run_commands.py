"""``aipm runs``: at the server and over HTTP, in the name of the person who types it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aipm_devkit.program import Server
from tests.test_runs import Place

PROGRAM = """
import time
print("begun", flush=True)
if "SLOW" in open("file.txt").read():
    time.sleep(600)
open("made.txt", "w").write("x\\n")
report()
"""


class Team:
    """A server with one run that has ended; people reach it from elsewhere."""

    def __init__(self, root: Path, server: Server, place: Place) -> None:
        self.place = place
        self.server = server
        self.task = place.task()
        self.run = place.ended()
        person = ("--project", "p", "--type", "human")
        place.install.run("agent", "add", "mia", *person, "--role", "manager")
        place.install.run("agent", "add", "joe", *person)
        self._tokens = {
            name: place.install.json("token", "create", "--agent", name)["token"]
            for name in ("mia", "joe")
        }

    def remote(self, person: str, *words: str, code: int = 0) -> Any:
        """Run a command on a machine that has nothing but a token."""
        install = self.place.install
        install.environ["AIPM_UI_TOKEN"] = self._tokens[person]
        return install.run("runs", *words, "--server", self.server.url, check=code)

    def tool(self, person: str, name: str, **given: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self._tokens[person]}"}
        return httpx.post(f"{self.server.url}/api/tools/{name}", headers=headers, json=given)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    root = tmp_path_factory.mktemp("commands")
    place = Place(root, PROGRAM)
    with place.install.up() as server:
        yield Team(root, server, place)


def test_runs_are_read_from_any_machine(team: Team) -> None:
    short = team.run["id"][:14]
    assert short[:12] in team.remote("joe", "list").stdout
    assert team.task in team.remote("joe", "show", short).stdout
    assert team.remote("joe", "log", short, "-f").stdout == "begun\n"
    assert "+x" in team.remote("joe", "diff", short).stdout
    assert "merge" in team.remote("mia", "merge", short).stdout
    assert "manager" in team.remote("joe", "merge", short, code=4).stderr.lower()
    assert "runs list" in team.remote("joe", "show", "run_0", code=3).stderr


def test_a_stop_names_who_typed_it(team: Team) -> None:
    work = team.place.repository / "file.txt"
    work.write_text("SLOW\n")
    team.place.git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "slow")
    team.place.task()
    run = team.place.running()
    stopped = team.place.install.json("runs", "stop", run["id"], "--as", "joe")
    assert (stopped["stop_by"], stopped["end_reason"]) == ("joe", "stopped_by_person")
    team.remote("mia", "stop", run["id"], code=4)
    assert run["id"] in team.remote("mia", "undo", run["id"]).stdout
    assert team.place.install.json("runs", "show", run["id"])["undone_by"] == "mia"


def test_a_log_of_another_project_is_unknown(team: Team) -> None:
    given = {"project_id": "q", "run_id": team.run["id"]}
    assert team.tool("joe", "read_run_log", **given).json()["error"]["code"] == "project_not_found"
    given = {"project_id": "p", "run_id": "run_0"}
    assert team.tool("joe", "read_run_log", **given).json()["error"]["code"] == "run_not_found"
