"""What people do with runs over HTTP: start, stop, kill, take back; and a view that is killed."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
from aipm_devkit.program import Server
from tests.test_runs import REPORT, Place, processes

HANG = "import time\nbegin(); print('begun', flush=True); time.sleep(1000)\n"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + HANG


@contextmanager
def manager(place: Place, server: Server) -> Iterator[httpx.Client]:
    """Be a manager of the project who calls tools."""
    if not [one for one in place.install.json("agent", "list") if one["id"] == "mia"]:
        role = ("--type", "human", "--role", "manager")
        place.install.run("agent", "add", "mia", "--project", "p", *role)
    token = place.install.json("token", "create", "--agent", "mia")["token"]
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{server.url}/api", headers=headers, timeout=30) as http:
        yield http


def order(http: httpx.Client, tool: str, **given: Any) -> dict[str, Any]:
    reply = http.post(f"/tools/{tool}", json={"project_id": "p", **given})
    return dict(reply.json()["result"] if reply.is_success else reply.json()["error"])


def seen(http: httpx.Client, view: str) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/projects/p/state").json()["views"][view]
    return found


def test_stop_kill_and_start_again(tmp_path: Path) -> None:
    place = Place(tmp_path, STUBBORN)
    with place.install.up() as server, manager(place, server) as http:
        place.task()
        run = place.running()
        place.wait(lambda: "begun" in place.log(run))
        assert order(http, "stop_run", run_id=run["id"], kill=True)["killed"] is True
        ended = place.ended()
        assert (ended["end_reason"], ended["stop_by"]) == ("stopped_by_person", "mia")
        assert processes(run["id"]) == []
        (item,) = place.wait(lambda: list(seen(http, "inbox").values()))
        assert (item["kind"], item["id"], item["run_id"]) == ("run", run["id"], run["id"])
        place.program.write_text(REPORT + "report()\n")
        (again,) = [one for one in item["actions"] if one["name"] == "start"]
        reply = http.post(f"/tools/{again['tool']}", json=again["arguments"])
        assert reply.json()["result"]["run_id"] is None
        place.wait(lambda: [r for r in place.runs() if r["end_reason"] == "ok"])
        place.wait(lambda: seen(http, "inbox") == {})
        assert order(http, "start_run", agent_id="ann")["code"] == "nothing_to_start"


def test_a_person_takes_a_run_back_once(tmp_path: Path) -> None:
    place = Place(tmp_path, "open('made.txt', 'w').write('x\\n'); report()\n")
    with place.install.up() as server, manager(place, server) as http:
        place.task()
        run = place.ended()
        (file,) = http.get(f"/runs/{run['id']}/diff").json()["files"]
        assert (file["path"], file["added"], file["removed"]) == ("made.txt", 1, 0)
        for _ in range(2):
            undone = order(http, "undo_run", run_id=run["id"])
            assert undone["kept"] == f"refs/aipm/undone/{run['id']}"
            assert not Path(run["workspace"], "made.txt").exists()
            assert place.git("show", f"{undone['kept']}:made.txt") == "x\n"
        record = seen(http, "runs")[run["id"]]
        assert (record["undone_by"], bool(record["undone_at"])) == ("mia", True)
        # The mark is lost as in a crash; what is kept stays what the run had made.
        place.install.run("runs", "undo", run["id"])
        assert place.git("show", f"refs/aipm/undone/{run['id']}:made.txt") == "x\n"


def test_an_agent_gets_its_program_in_the_page(tmp_path: Path) -> None:
    place = Place(tmp_path, "report()\n")
    with place.install.up() as server, manager(place, server) as http:
        place.install.run("agent", "add", "bob", "--project", "p", "--parent", "mia")
        shown = order(http, "show_programs", agent_id="bob")
        assert {"empty", "fake", "gone", "script"} <= set(shown["programs"])
        assert "command" not in shown["programs"]
        assert shown["agent"]["program"] == ""
        edit = {"agent_id": "bob", "program": "fake", "model": "m", "system_prompt": "be brief"}
        assert order(http, "edit_agent", **edit)["agent"]["id"] == "bob"
        member = seen(http, "members")["bob"]
        assert (member["program"], member["model"]) == ("fake", "m")
        assert "system_prompt" not in member
        told = order(http, "edit_agent", agent_id="bob", program="/bin/sh")
        assert (told["code"], "there is no program '/bin/sh'" in told["message"]) == (
            "invalid_program",
            True,
        )
        order(http, "edit_agent", agent_id="bob", program=None, model=None)
        assert order(http, "show_programs", agent_id="bob")["agent"] == {
            **dict.fromkeys(("model", "role_text", "workspace", "max_budget_usd")),
            "agent_id": "bob",
            "program": "",
            "system_prompt": "be brief",
        }


def test_a_view_that_is_followed_through_a_kill_9_is_the_state(tmp_path: Path) -> None:
    place = Place(tmp_path, HANG)
    with place.install.up() as server, manager(place, server) as http:
        state = http.get("/projects/p/state").json()
        place.task()
        run = place.running()
        place.wait(lambda: "begun" in place.log(run))
        os.kill(server.process.pid, SIGKILL)
        server.process.wait()
    place.wait(lambda: not processes(run["id"]))
    place.program.write_text(REPORT + "report()\n")
    with place.install.up() as server, manager(place, server) as http:
        place.wait(lambda: [r for r in place.runs() if r["end_reason"] == "ok"])
        runs = dict(state["views"]["runs"])
        wanted = seen(http, "runs")
        url, after = "/projects/p/stream", {"after": state["cursor"]}
        with http.stream("GET", url, params=after) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    change = json.loads(line[6:])
                    assert "resync" not in change
                    if change["view"] == "runs":
                        runs[change["id"]] = change["record"]
                if runs == wanted:
                    break
        assert {r["end_reason"] for r in runs.values()} == {"runner_lost", "ok"}
