"""UC001 to UC007: agents do tasks, alone, together, for a manager and one after the other."""

from functools import partial
from pathlib import Path

from playwright.sync_api import expect

from tests.use_cases.world import Case, card, git, move

SPLITS = """
begin()
child = result("create_task", title="a part of it", parent_task_id=TASK)["task"]
result("update_task_status", task_id=child["id"], status="in_progress")
write("hello.txt", "hello")
result("update_task_status", task_id=child["id"], status="done")
until("report_completed")
done("hello.txt is written")
"""
SAYS_WHO_IT_IS = """
begin()
write(f"{ME}.txt", json.dumps([PROMPT, sys.argv[2:], os.environ.get("AIPM_MODEL")]))
done()
"""
WAITS = """
begin()
write("here.txt", PROJECT)
tell(f"{PROJECT}.begun", os.getcwd())
wait_for(f"{PROJECT}.go")
done()
"""
GIVES_AWAY = """
begin()
for name, title in {parts!r}:
    made = result("create_task", title=title, parent_task_id=TASK, assignee_id=name)["task"]
while (step := result("get_next_action", timeout_seconds=20))["action"] != "report_completed":
    if step["action"] == "start_subtask":
        result("update_task_status", task_id=step["subtask"]["id"], status="in_progress")
done("all parts are done")
"""
READS_ROLES = """
roles = [line[2:].split(": ", 1) for line in PROMPT.split("\\n") if line.startswith("- uc006-")]
parts = [(next(name for name, role in roles if word in role), f"{word}で書く")
         for word in ("日本語", "中国語")]
"""


def saved(folder: Path, run_id: str) -> bool:
    """Return whether a run has left its working copy."""
    return f"refs/aipm/run/{run_id}" in git(folder, "for-each-ref")


def test_uc001_an_agent_does_a_task(case: Case) -> None:
    """A person makes a task, gives it away and starts it; the agent splits it and gets it done."""
    worker = case.agent("uc001-worker", task=SPLITS)
    page = case.open()
    page.get_by_role("button", name="New task").first.click()
    dialog = page.get_by_role("dialog")
    page.locator("[data-first]").fill("Write hello.txt")
    dialog.get_by_label("Starts in").select_option("backlog")
    dialog.get_by_label("Assignee").select_option(worker)
    dialog.get_by_role("button", name="Create task").click()
    expect(card(page, "Write hello.txt", "Backlog")).to_be_visible()
    assert case.records("runs") == []  # a backlog starts nobody
    move(page, "Write hello.txt", "In progress")
    expect(card(page, "Write hello.txt", "Done")).to_be_visible(timeout=60_000)
    expect(card(page, "a part of it", "Done")).to_be_visible()
    card(page, "Write hello.txt").get_by_role("link").first.click()
    expect(page.get_by_text("hello.txt is written")).to_be_visible()
    assert case.left(worker, "hello.txt") == "hello"
    run = case.record("runs", agent_id=worker, state="ended", end_reason="ok")
    log = case.anna.get(f"/api/runs/{run['id']}/log")["lines"]
    assert "report_completed" in [line["text"] for line in log]
    assert len(case.records("runs")) == 1  # nobody was started twice
    case.go(page, f"runs/{run['id']}")
    expect(page.get_by_role("log", name="Log")).to_contain_text("report_completed")


def test_uc002_agents_of_different_minds_do_the_same(case: Case) -> None:
    """Two writers get the same instruction; prompt and program of each make the difference."""
    case.agent("uc002-novelist", task=SAYS_WHO_IT_IS, system_prompt="You write novels.")
    other = {"program": "other-player", "system_prompt": "You write news."}
    case.agent("uc002-reporter", task=SAYS_WHO_IT_IS, **other)
    for name in ("uc002-novelist", "uc002-reporter"):
        case.task(f"Describe the sea ({name})", name)
    page = case.open()
    for name, prompt, program in (
        ("uc002-novelist", "You write novels.", "[]"),
        ("uc002-reporter", "You write news.", '["other"]'),
    ):
        expect(card(page, f"Describe the sea ({name})", "Done")).to_be_visible(timeout=60_000)
        written = case.left(name, f"{name}.txt")
        assert prompt in written
        assert program in written
    case.go(page, "agents")
    expect(page.get_by_text("other-player").first).to_be_visible()


def test_uc003_a_person_switches_the_model(case: Case) -> None:
    """The model of an agent is set on the page, and its next run uses it."""
    worker = case.agent("uc003-worker", task=SAYS_WHO_IT_IS, model="small-1")
    first = case.task("with the first model", worker)
    case.record("tasks", id=first, status="done")
    assert '"small-1"' in case.left(worker, f"{worker}.txt")
    page = case.open("agents")
    page.get_by_role("button", name=f"More actions: {worker}").click()
    page.get_by_role("menuitem", name="Program and role").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Model")).to_have_value("small-1")
    dialog.get_by_label("Model").fill("large-2")
    dialog.get_by_role("button", name="Save").click()
    case.record("members", id=worker, model="large-2")
    second = case.task("with the second model", worker)
    case.record("tasks", id=second, status="done")
    run = case.record("runs", task_id=second, state="ended")
    written = git(case.folder, "show", f"refs/aipm/run/{run['id']}:{worker}.txt")
    assert '"large-2"' in written


def test_uc004_one_agent_in_two_projects(case: Case) -> None:
    """The same agent works in two projects at once, each time in the right directory."""
    worker = case.agent("uc004-worker", task=WAITS)
    folders = {case.name: case.folder, "uc004-b": case.project("uc004-b")}
    case.anna.call("assign_agent", project_id="uc004-b", agent_id=worker)
    for project in folders:
        about = {"project_id": project, "title": f"in {project}", "assignee_id": worker}
        case.anna.call("create_task", **about, status="todo")
    places = {project: case.told(f"{project}.begun") for project in folders}
    assert len(set(places.values())) == 2
    for project in folders:
        assert [run["state"] for run in case.records("runs", project)] == ["running"]
    page = case.open("agents")
    expect(page.get_by_role("region", name="Working").get_by_text(worker)).to_be_visible()
    for project, folder in folders.items():
        case.tell(f"{project}.go")
        page.goto(f"{case.world.server.url}/#/{project}/board")
        expect(card(page, f"in {project}", "Done")).to_be_visible(timeout=60_000)
        (run,) = case.records("runs", project)  # the same pair is not started again
        case.wait(partial(saved, folder, run["id"]))
        assert git(folder, "show", f"refs/aipm/run/{run['id']}:here.txt") == project


def test_uc005_a_manager_delegates_to_a_worker(case: Case) -> None:
    """A manager gives a part to a worker, which splits it; being done climbs up again."""
    case.agent("uc005-lead", task=GIVES_AWAY.format(parts=[("uc005-worker", "Build it")]))
    case.agent("uc005-worker", task=SPLITS, parent_id="uc005-lead")
    page = case.open()
    case.task("Deliver it", "uc005-lead")
    for title in ("Deliver it", "Build it", "a part of it"):
        expect(card(page, title, "Done")).to_be_visible(timeout=60_000)
    tasks = {one["title"]: one for one in case.records("tasks")}
    assert tasks["a part of it"]["parent_task_id"] == tasks["Build it"]["id"]
    assert tasks["Build it"]["parent_task_id"] == tasks["Deliver it"]["id"]
    assert tasks["Build it"]["assignee_id"] == "uc005-worker"
    expect(card(page, "Deliver it")).to_contain_text("1/1")
    assert case.left("uc005-worker", "hello.txt") == "hello"


def test_uc006_a_manager_chooses_workers_by_their_roles(case: Case) -> None:
    """A manager is told what its workers are for, and gives each of them what it is for."""
    lead = case.agent("uc006-lead", task=READS_ROLES + GIVES_AWAY.replace("{parts!r}", "parts"))
    for name, role in (("uc006-a", "中国語の文章を書く"), ("uc006-b", "日本語の文章を書く")):
        case.agent(name, parent_id=lead, role_text=role)
    page = case.open()
    case.task("二つの言語で書く", lead)
    expect(card(page, "二つの言語で書く", "Done")).to_be_visible(timeout=60_000)
    given = {one["title"]: one["assignee_id"] for one in case.records("tasks")}
    assert (given["日本語で書く"], given["中国語で書く"]) == ("uc006-b", "uc006-a")
    assert case.left("uc006-a", "uc006-a.txt") == "中国語で書く"
    assert case.left("uc006-b", "uc006-b.txt") == "日本語で書く"


def test_uc007_a_task_waits_for_another(case: Case) -> None:
    """The second task starts only when the first, which it depends on, is done."""
    here = {"workspace": "directory"}  # both in the project's own directory
    case.agent("uc007-generator", task='begin(); write("seed.txt", "21"); done()', **here)
    doubles = 'begin(); write("out.txt", str(2 * int(Path("seed.txt").read_text()))); done()'
    case.agent("uc007-calculator", task=doubles, **here)
    first = case.task("Make a number", "uc007-generator", status="backlog")
    second = case.task("Double it", "uc007-calculator", dependencies=[first])
    page = case.open()
    expect(card(page, "Double it", "To do")).to_contain_text("Waits for 1")
    assert case.records("runs") == []  # what waits starts nobody
    move(page, "Make a number", "To do")
    expect(card(page, "Double it", "Done")).to_be_visible(timeout=60_000)
    assert (case.folder / "out.txt").read_text() == "42"
    assert case.record("tasks", id=second)["dependencies"] == [first]
    sql = "select at from task_history where task_id = ? and to_status = ?"
    (done,), (begun,) = (
        case.world.rows(sql, first, "done")[0],
        case.world.rows(sql, second, "in_progress")[0],
    )
    assert done <= begun
