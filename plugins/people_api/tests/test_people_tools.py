"""Every tool for people is an endpoint: who may call it, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openapi_spec_validator import validate
from tests.people import House, house

EVERYBODYS = {
    *("create_task", "edit_task", "move_task", "assign_task", "approve_task_request"),
    *("reject_task_request", "provide_confirmation", "say", "broadcast", "notify", "end_session"),
    *("create_token", "list_tokens", "revoke_token", "read_messages", "search_messages"),
    *("snooze_item", "hand_over_item", "start_run", "stop_run", "leave_run"),
    *("answer_item", "archive_task", "edit_message", "withdraw_message", "get_status", "get_task"),
    *("list_agents", "list_grants", "list_plugins", "list_projects", "list_rules", "list_sessions"),
    *("list_tasks", "pause_project", "resume_project", "read_inbox", "reopen_task"),
    *("revoke_grant", "revoke_rule", "propose_instead", "set_dependencies"),
    *("read_activity", "create_login_code"),
    *("list_runs", "read_run_log", "show_run_changes"),
    *("openSession", "closeSession", "submitUserInput", "cancelRun", "provideConfirmation"),
}
MANAGERS = {
    *("create_project", "edit_project", "add_agent", "edit_agent", "rekey_agent"),
    *("assign_agent", "announce", "undo_run", "show_programs", "archive_project", "check_plugin"),
    *("delete_project", "delete_task", "list_audit", "remove_agent", "unassign_agent"),
    *("verify_audit", "rehearse_rules", "make_rule"),
    *("prepare_merge",),
    *("create_agent_token", "list_agent_tokens", "revoke_agent_token"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("tools")) as made:
        yield made


def test_people_see_the_tools_they_may_use(home: House) -> None:
    with home.person("mia") as mia, home.person("max") as worker:
        assert mia.names() == EVERYBODYS | MANAGERS
        assert worker.names() == EVERYBODYS
        (tool,) = [t for t in mia.http.get("/tools").json()["tools"] if t["name"] == "say"]
        assert tool.keys() == {"name", "title", "description", "inputSchema"}
        assert "session_token" not in tool["inputSchema"]["properties"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert worker.refused("create_project", id="x") == (403, "manager_required")


def test_nobody_gets_in_with_another_token(home: House) -> None:
    session = home.agent("bot")["session_token"]
    for token in (session, home.passkeys["mia"], "aipm_ui_unknown", ""):
        with home.http(token or "x") as http:
            for reply in (
                http.get("/tools"),
                http.post("/tools/say", json={}),
                http.post("/logout"),
            ):
                assert (reply.status_code, reply.json()["error"]["code"]) == (
                    401,
                    "session_invalid",
                )
    with home.http() as http:
        reply = http.post("/tools/say", json={})
        assert (reply.status_code, reply.json()["error"]["code"]) == (
            401,
            "authentication_required",
        )


def test_a_persons_token_opens_no_agents_tool(home: House) -> None:
    told = home.mcp("get_my_task", home.token("mia"))
    assert told["error"]["code"] == "session_invalid"


def test_what_is_wrong_is_named(home: House) -> None:
    with home.person("mia") as mia:
        assert mia.refused("fly") == (404, "tool_not_found")
        assert mia.refused("get_next_action") == (404, "tool_not_found")
        reply = mia.post("create_task", project_id="shop")
        assert reply.status_code == 400
        assert "title" in reply.json()["error"]["message"]
        assert mia.refused("create_task", project_id="shop", title="x", who=1)[0] == 400
        json = {"content-type": "application/json"}
        for content in (b"{", b"[]", b'{"a":1,"a":2}'):
            reply = mia.http.post("/tools/say", content=content, headers=json)
            assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_arguments")
        reply = mia.http.post("/tools/say", content=b"{}x", headers={"content-type": "text/plain"})
        assert reply.status_code in (400, 415)
        reply = mia.http.post("/tools/list_tokens")
        assert reply.status_code == 200, "an empty body is no arguments"


def test_foreign_projects_do_not_exist(home: House) -> None:
    with home.person("eve") as eve, home.person("mia") as mia:
        theirs = eve.call("create_task", project_id="other", title="theirs")["task"]["id"]
        for project in ("other", "nowhere", "", "../shop"):
            refusal = mia.refused("create_task", project_id=project, title="x")
            assert refusal == (404, "project_not_found")
        move = {"project_id": "shop", "task_id": theirs, "status": "todo"}
        assert mia.refused("move_task", **move) == (404, "task_not_found")
        unknown = mia.refused("move_task", **{**move, "task_id": "tsk_none"})
        assert unknown == (404, "task_not_found")
        for agent in ("spy", "nobody"):
            about = {"project_id": "shop", "agent_id": agent}
            for tool, more in (
                ("say", {"content": "x"}),
                ("read_messages", {}),
                ("notify", {"type": "message", "message": "x"}),
                ("edit_agent", {"name": "x"}),
                ("rekey_agent", {}),
                ("assign_agent", {}),
            ):
                assert mia.refused(tool, **about, **more) == (404, "agent_not_found"), tool
            task = {"project_id": "shop", "title": "x", "assignee_id": agent}
            assert mia.refused("create_task", **task) == (404, "agent_not_found")
        session = home.agent("spy")["session_token"]
        assert session
        gone = {"project_id": "shop", "session_id": "ses_none"}
        assert mia.refused("end_session", **gone) == (404, "session_not_found")


def test_a_directory_that_is_taken_tells_nothing_of_a_foreign_project(home: House) -> None:
    root = home.install.root
    with home.person("mia") as mia:
        for place in (root / "other", root / "other/below", root):
            replies = (
                mia.post("create_project", id="new", directory=str(place)),
                mia.post("edit_project", project_id="shop", directory=str(place)),
            )
            for reply in replies:
                told = reply.json()["error"]
                assert (reply.status_code, told["code"]) == (409, "directory_taken")
                assert "other" not in told["message"]
                assert str(root) not in told["message"]


def test_a_task_from_its_making_to_its_end(home: House) -> None:
    with home.person("mia") as mia:
        task = mia.call("create_task", project_id="shop", title="Paint", assignee_id="bot")["task"]
        assert (task["requester_id"], task["status"]) == ("mia", "backlog")
        one = {"project_id": "shop", "task_id": task["id"]}
        edited = mia.call("edit_task", **one, title="Paint it", priority="urgent")["task"]
        assert (edited["title"], edited["priority"]) == ("Paint it", "urgent")
        assert edited["description"] == task["description"]
        mia.call("move_task", **one, status="todo")
        worker = home.agent("bot", "task")["session_token"]
        home.mcp("update_task_status", worker, task_id=task["id"], status="in_progress")
        mia.call("edit_task", **one, description="in red")
        (told,) = home.mcp("get_notifications", worker)["result"]["notifications"]
        assert (told["type"], told["task_id"]) == ("message", task["id"])
        moved = mia.call("assign_task", **one, assignee_id="ant")
        assert (moved["task"]["assignee_id"], moved["task"]["status"]) == ("ant", "todo")
        assert moved["previous_status"] == "in_progress"
        assert "replaced" in home.mcp("get_my_task", worker)
        (stop,) = home.mcp("get_notifications", worker)["result"]["notifications"]
        assert (stop["type"], stop["action"]) == ("interrupt", "cancel")
        late = home.mcp("report_completed", worker, result="success")
        assert late["error"]["code"] == "no_task"
        mia.call("move_task", **one, status="cancelled")
        assert mia.refused("move_task", **one, status="todo") == (409, "invalid_transition")
        assert mia.refused("edit_task", **one, title="x") == (409, "task_finished")
        assert mia.refused("assign_task", **one, assignee_id="bot") == (409, "task_finished")


def test_a_request_is_approved_or_rejected_by_a_person(home: House) -> None:
    worker = home.agent("ant", "task")["session_token"]
    with home.person("max") as person:
        for tool, outcome in (
            ("approve_task_request", "approved"),
            ("reject_task_request", "rejected"),
        ):
            made = home.mcp("request_task", worker, title="May I?")["result"]
            assert made["approval_status"] == "pending_approval"
            one = {"project_id": "shop", "task_id": made["task_id"]}
            assert person.call(tool, **one, reason="ok")["task"]["approval_status"] == outcome
            assert person.refused(tool, **one) == (409, "task_request_already_processed")


def test_people_talk_and_read(home: House) -> None:
    with home.person("mia") as mia:
        said = mia.call("say", project_id="shop", agent_id="bot", content="hello bot")
        assert said["message"]["senderId"] == "mia"
        told = mia.call("broadcast", project_id="shop", content="hello all")
        assert set(told["target_agent_ids"]) == {"ant", "bot", "max"}
        page = mia.call("read_messages", project_id="shop", agent_id="bot")
        assert [m["content"] for m in page["messages"]][:2] == ["hello bot", "hello all"]
        rest = {"project_id": "shop", "agent_id": "bot", "after": page["next"]}
        assert mia.call("read_messages", **rest)["messages"] == []
        found = mia.call("search_messages", project_id="shop", agent_id="bot", text="bot")
        assert [m["id"] for m in found["messages"]] == [said["message_id"]]
        both = ["bot", "spy"]
        refusal = mia.refused("broadcast", project_id="shop", target_agent_ids=both, content="x")
        assert refusal == (404, "agent_not_found")


def test_an_interrupt_stops_an_agent_and_an_end_ends_it(home: House) -> None:
    token = home.agent("bot")["session_token"]
    with home.person("max") as person:
        about = {"project_id": "shop", "agent_id": "bot", "type": "interrupt"}
        assert person.refused("notify", **about) == (400, "invalid_notification")
        person.call("notify", **about, action="pause", message="wait")
        assert "replaced" in home.mcp("get_my_task", token)
        home.mcp("get_notifications", token)
        assert "result" in home.mcp("get_my_task", token)
        for session_id in home.sessions("bot"):
            person.call("end_session", project_id="shop", session_id=session_id)
        assert home.mcp("get_my_task", token)["error"]["code"] == "session_invalid"


def test_managers_manage_their_own_projects(home: House) -> None:
    with home.person("mia") as mia:
        made = mia.call("create_project", id="lab", name="Lab")["project"]
        assert made["name"] == "Lab"
        assert mia.call("edit_project", project_id="lab", name="L")["project"]["name"] == "L"
        assert mia.refused("create_project", id="lab") == (409, "already_exists")
        assert mia.refused("create_project", id="Not A Name") == (400, "invalid_arguments")
        assert mia.refused("create_project", id="rel", directory="x") == (400, "invalid_arguments")
        new = mia.call("add_agent", project_id="lab", agent_id="lola", parent_id="mia")
        assert new["agent"]["projects"] == ["lab"]
        assert mia.refused("add_agent", project_id="lab", agent_id="spy") == (
            409,
            "already_exists",
        )
        home.passkeys["lola"] = new["passkey"]
        login = {"agent_id": "lola", "passkey": new["passkey"], "project_id": "lab"}
        token = home.mcp("authenticate", **login)["result"]["session_token"]
        one = {"project_id": "lab", "agent_id": "lola"}
        agent = mia.call("edit_agent", **one, name="Lola", role="manager")["agent"]
        assert (agent["name"], agent["role"], agent["parent_id"]) == ("Lola", "manager", "mia")
        circle = {"project_id": "lab", "agent_id": "mia", "parent_id": "lola"}
        assert mia.refused("edit_agent", **circle) == (409, "parent_circle")
        again = mia.call("rekey_agent", **one)
        assert again["passkey"] != new["passkey"]
        assert home.mcp("get_my_task", token)["error"]["code"] == "session_invalid"
        joined = mia.call("assign_agent", project_id="shop", agent_id="lola")["agent"]
        assert joined["projects"] == ["lab", "shop"]


def test_nobody_reaches_into_a_foreign_project_through_a_shared_agent(home: House) -> None:
    home.install.run("agent", "assign", "ant", "--project", "other")
    with home.person("eve") as eve:
        one = {"project_id": "other", "agent_id": "ant"}
        assert eve.refused("rekey_agent", **one) == (403, "agent_of_others")
        assert eve.refused("edit_agent", **one, role="manager") == (403, "agent_of_others")
        assert eve.refused("create_token", agent_id="mia") == (404, "agent_not_found")


def test_tokens_are_ones_own_or_those_of_ones_people(home: House) -> None:
    with home.person("max") as person, home.person("mia") as mia:
        made = person.call("create_token")
        assert made["agent_id"] == "max"
        with home.http(made["token"]) as http:
            assert http.get("/tools").status_code == 200
            listed = person.call("list_tokens")["tokens"]
            assert {one["agent_id"] for one in listed} == {"max"}
            assert made["token"] not in str(listed)
            assert person.refused("list_tokens", agent_id="mia") == (403, "manager_required")
            assert made["id"] in {
                t["id"] for t in mia.call("list_tokens", agent_id="max")["tokens"]
            }
            with home.person("eve") as eve:
                assert eve.refused("revoke_token", token_id=made["id"]) == (404, "token_not_found")
            mia.call("revoke_token", token_id=made["id"])
            assert http.get("/tools").status_code == 401
        assert person.refused("revoke_token", token_id=made["id"]) == (404, "token_not_found")
        assert mia.refused("create_token", agent_id="bot") == (403, "not_a_human")


def test_the_description_is_openapi_and_whole(home: House) -> None:
    with home.person("mia") as mia:
        reply = mia.http.get("/openapi.json")
        assert reply.status_code == 200
        told = reply.json()
        validate(told)
        assert told["openapi"].startswith("3.1")
        tools = {path for path in told["paths"] if path.startswith("/api/tools/")}
        assert tools == {"/api/tools/{name}"} | {
            f"/api/tools/{name}" for name in EVERYBODYS | MANAGERS
        }
        chat = "/api/projects/{project_id}/agents/{agent_id}/chat/messages"
        assert told["paths"][chat].keys() == {"get", "post"}
        for path in ("/ws", "/events", "/commands", "/mcp", "/metrics", "/healthz", "/api/login"):
            assert path in told["paths"]
        say = told["paths"]["/api/tools/say"]["post"]["requestBody"]["content"]
        assert "agent_id" in say["application/json"]["schema"]["required"]
    with home.http() as http:
        assert http.get("/openapi.json").status_code == 401
