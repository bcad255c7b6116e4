"""Working copies: prepared once, ports of their own, work made ready to merge and never forced."""

from __future__ import annotations

from pathlib import Path

from tests.runner_team import TOOLS, RunnerTeam

ENDED = "select end_reason, detail from runs where ended_at is not null order by number"
DONE = "select count(*) from tasks where status = 'done'"


def test_a_working_copy_is_set_up_once_and_its_work_can_be_merged(tmp_path: Path) -> None:
    program = (
        TOOLS + "print(os.environ['RUN_PORTS'], open('ready.txt').read().strip(), flush=True)\n"
    )
    program += "open('made.txt', 'w').write('x')\nwork()\nreport()\n"
    setup = 'setup = ["/bin/sh", "-c", "echo $PWD >> ready.txt; echo ready.txt >> .gitignore"]'
    team = RunnerTeam(tmp_path, 1, in_server=True, program=program, settings=setup)
    with team.up() as server:
        team.tasks(server, 1)
        team.wait(lambda: team.one(DONE) == 1 and team.rows(ENDED))
        (run,) = team.install.json("runs", "list")
        ((line,),) = team.rows("select text from run_log")
        ports, where = line.split()
        assert ports == "20000-20009" or int(ports.partition("-")[0]) >= 20000
        assert where == run["workspace"]
        assert team.git("status", "--porcelain", "--", ":!.ai-pm") == ""
    merge = team.install.json("runs", "merge", run["id"])
    assert (merge["branch"], merge["conflicts"], merge["ahead"]) == (run["branch"], [], 1)
    assert team.git("show", f"{run['branch']}:made.txt") == "x"
    assert not (tmp_path / "work" / "made.txt").exists()
    again = team.install.json("runs", "merge", run["id"])
    assert again["commit"] == merge["commit"]
    (tmp_path / "work" / "made.txt").write_text("other")
    team.git("add", "made.txt")
    team.git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "other")
    assert team.install.json("runs", "merge", run["id"])["conflicts"] == ["made.txt"]
    assert "conflict: made.txt" in team.install.run("runs", "merge", run["id"]).stdout
    assert (tmp_path / "work" / "made.txt").read_text() == "other"


def test_a_working_copy_that_cannot_be_set_up_is_a_sentence_in_the_inbox(tmp_path: Path) -> None:
    setup = 'setup = ["/bin/sh", "-c", "echo it is broken >&2; exit 3"]'
    team = RunnerTeam(tmp_path, 1, in_server=True, settings=setup)
    with team.up() as server:
        team.tasks(server, 1)
        (item,) = team.wait(lambda: team.install.json("inbox"))
        assert "it is broken" in item["summary"]
        assert "setup" in item["summary"]
        assert team.rows("select 1 from sessions") == []
        toml = tmp_path / "aipm.toml"
        toml.write_text(toml.read_text().replace("exit 3", "exit 0"))
    with team.up():
        team.install.run("approve", item["id"])
        team.wait(lambda: team.one(DONE) == 1)
