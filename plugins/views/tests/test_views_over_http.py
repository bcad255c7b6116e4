"""State and stream over real sockets: people, strangers, crashes, and two servers at once."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings
from aipm_devkit.program import Install, Server
from aipm_file_chat.plugin import PEOPLES_CHAT
from aipm_sessions.plugin import ADMINISTRATION
from aipm_tasks.api import TASKS, NewTask

from aipm_core import iso
from aipm_core.models import Kind

MEMBERS: list[tuple[str, str, Kind]] = [
    ("worker", "p", "ai"),
    ("alice", "p", "human"),
    ("bob", "p", "human"),
    ("mallory", "q", "human"),
]
VIEWS = {
    *("project", "members", "sessions", "tasks", "inbox", "conversations", "delegations"),
    *("notifications", "chats", "activity", "runs"),
}


async def furnish(data_dir: Path) -> dict[str, str]:
    """Make two projects and their members; return everybody's token or passkey."""
    async with open_runtime(Settings(data_dir=data_dir)) as runtime:
        administration = runtime.services.use(ADMINISTRATION)
        secrets: dict[str, str] = {}
        for project in ("p", "q"):
            await administration.add_project(project, project, data_dir.parent / f"work-{project}")
        for name, project, kind in MEMBERS:
            _, secrets[name] = await administration.add_agent(
                name, project_id=project, name=name, kind=kind, role="worker", parent=None
            )
            if kind == "human":
                secrets[name] = (await administration.add_token(name))["token"]
        return secrets


@dataclass
class House:
    install: Install
    secrets: dict[str, str]

    def http(self, server: Server, who: str | None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.secrets[who]}"} if who else {}
        base = f"{server.url}/api"
        return httpx.Client(base_url=base, headers=headers, timeout=30)

    def add_task(self, title: str, *args: str) -> str:
        made: str = self.install.json("task", "add", "--project", "p", "--title", title, *args)[
            "id"
        ]
        return made


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    install = Install.make(tmp_path_factory.mktemp("house"))
    return House(install, anyio.run(furnish, install.root / ".aipm-data"))


@pytest.fixture(scope="module")
def server(house: House) -> Iterator[Server]:
    with house.install.up() as running:
        yield running


@dataclass
class Page:
    """What a person's program holds: a state, and what the stream made of it."""

    http: httpx.Client
    project: str = "p"
    cursor: str = ""
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    frames: Iterator[dict[str, Any]] = field(default_factory=lambda: iter(()))

    def load(self) -> None:
        answer = self.http.get(f"/projects/{self.project}/state")
        assert answer.status_code == 200, answer.text
        self.cursor, self.views = answer.json()["cursor"], answer.json()["views"]

    @contextmanager
    def following(self, **headers: str) -> Iterator[None]:
        params = {"after": self.cursor} if not headers else {}
        url = f"/projects/{self.project}/stream"
        with self.http.stream("GET", url, params=params, headers=headers) as stream:
            assert stream.status_code == 200, stream.read()
            self.frames = (
                json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")
            )
            yield

    def fold_until(self, view: str, wanted: str) -> dict[str, Any] | None:
        """Put records in their places until one about this record has come."""
        for frame in self.frames:
            self.cursor = frame["cursor"]
            if frame["record"] is None:
                self.views[frame["view"]].pop(frame["id"], None)
            else:
                self.views[frame["view"]][frame["id"]] = frame["record"]
            if (frame["view"], frame["id"]) == (view, wanted):
                record: dict[str, Any] | None = frame["record"]
                return record
        raise AssertionError("the stream ended")

    def fold_to(self, cursor: str) -> None:
        """Put records in their places until the copy stands where a state does."""
        while int(self.cursor) < int(cursor):
            frame = next(self.frames)
            self.cursor = frame["cursor"]
            records = self.views[frame["view"]]
            if frame["record"] is None:
                records.pop(frame["id"], None)
            else:
                records[frame["id"]] = frame["record"]


def loaded(http: httpx.Client) -> Page:
    page = Page(http)
    page.load()
    return page


def test_a_state_has_every_view_and_what_was_just_acknowledged(
    house: House, server: Server
) -> None:
    with house.http(server, "alice") as http:
        for number in range(5):
            task = house.add_task(f"work {number}", "--description", "# Now\n<script>x</script>")
            page = loaded(http)
            assert page.views["tasks"][task]["title"] == f"work {number}"
        assert set(page.views) == VIEWS
        assert page.views["tasks"][task]["description_md"][0]["type"] == "heading"
        assert page.views["project"]["p"]["tasks"]["backlog"] == 5
        assert set(page.views["members"]) == {"worker", "alice", "bob"}


def test_two_people_see_a_change_of_another_process_and_their_copies_are_the_state(
    house: House, server: Server
) -> None:
    with house.http(server, "alice") as one, house.http(server, "bob") as other:
        pages = [loaded(one), loaded(other)]
        with pages[0].following(), pages[1].following():
            task = house.add_task("seen by both", "--assignee", "worker", "--status", "todo")
            house.install.run("task", "status", task, "in_progress")
            for page in pages:
                while (page.fold_until("tasks", task) or {})["status"] != "in_progress":
                    pass
            for http, page in zip((one, other), pages, strict=True):
                now = loaded(http)
                page.fold_to(now.cursor)
                assert page.views == now.views


def test_an_unread_message_waits_for_its_person_alone_until_it_is_read(
    house: House, server: Server
) -> None:
    with house.http(server, "alice") as one, house.http(server, "bob") as other:
        pages = [loaded(one), loaded(other)]
        with pages[0].following(), pages[1].following():
            with Agent.of(server, house.secrets["worker"]) as agent:
                message = agent.call("send_message", target_agent_id="alice", content="Shall I? 🙂")
            item = pages[0].fold_until("inbox", message["message_id"])
            assert item is not None
            assert (item["kind"], item["agent_id"]) == ("message", "worker")
            assert item["detail"] == "Shall I? 🙂"
            assert [action["tool"] for action in item["actions"]] == ["read_messages"]
            listed = one.get("/projects").json()["projects"]
            assert [each["waiting"] for each in listed] == [1]
            one.get("/projects/p/agents/worker/chat/messages").raise_for_status()
            assert pages[0].fold_until("inbox", message["message_id"]) is None
            now = loaded(other)
            pages[1].fold_to(now.cursor)
            assert now.views["inbox"] == pages[1].views["inbox"] == {}
            assert "Shall I" not in json.dumps(now.views)


class Agent:
    """An agent's session over MCP."""

    def __init__(self, http: httpx.Client, url: str) -> None:
        self._http = http
        self._url = url
        self._token: str | None = None

    @classmethod
    @contextmanager
    def of(cls, server: Server, passkey: str) -> Iterator[Agent]:
        who = {"agent_id": "worker", "passkey": passkey, "project_id": "p", "purpose": "chat"}
        with httpx.Client(timeout=30) as http:
            agent = cls(http, server.mcp)
            agent._token = agent.call("authenticate", **who)["session_token"]
            yield agent

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Accept": "application/json, text/event-stream"}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        answer = self._http.post(self._url, json=body, headers=headers)
        text = answer.text
        if text.startswith(("event:", "data:")):
            text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
        result: dict[str, Any] = json.loads(text)["result"]["structuredContent"]["result"]
        return result


def test_who_is_not_a_member_gets_nothing(house: House, server: Server) -> None:
    with house.http(server, "mallory") as http:
        for path in (
            "/projects/p/state",
            "/projects/p/stream",
            "/projects/nope/state",
            "/projects/nope/stream",
            "/projects/%00/state",
        ):
            refused = http.get(path)
            assert refused.status_code == 404, path
            assert refused.json()["error"]["code"] == "project_not_found"
        assert [each["id"] for each in http.get("/projects").json()["projects"]] == ["q"]
    with house.http(server, None) as http:
        for path in ("/projects", "/projects/p/state", "/projects/p/stream"):
            refused = http.get(path)
            assert refused.status_code == 401
            assert refused.json()["error"]["code"] == "authentication_required"
            refused = http.get(path, headers={"Authorization": "Bearer aipm_ui_wrong"})
            assert refused.json()["error"]["code"] == "session_invalid"


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9" * 19, "１"])
def test_what_is_no_cursor_is_refused(house: House, server: Server, after: str) -> None:
    with house.http(server, "alice") as http:
        refused = http.get("/projects/p/stream", params={"after": after})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_cursor")
        refused = http.get("/projects/p/state", params={"x": "y"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_query")


def test_a_cursor_nobody_gave_starts_anew(house: House, server: Server) -> None:
    with house.http(server, "alice") as http:
        for cursor in ("1", "999999999999999"):
            page = Page(http, cursor=cursor)
            with page.following():
                assert next(page.frames) == {"resync": True}


def test_the_newer_header_of_a_browser_wins(house: House, server: Server) -> None:
    with house.http(server, "alice") as http:
        page = loaded(http)
        first = house.add_task("first")
        with page.following():
            page.fold_until("tasks", first)
        second = house.add_task("second")
        url, headers = f"/projects/p/stream?after={1}", {"Last-Event-ID": page.cursor}
        with http.stream("GET", url, headers=headers) as stream:
            lines = (line for line in stream.iter_lines() if line.startswith("data: "))
            seen = json.loads(next(lines)[6:])
            while seen["id"] != second:
                assert seen["id"] != first or seen["view"] != "tasks"
                seen = json.loads(next(lines)[6:])


def test_who_loses_the_token_or_the_project_is_told_to_start_anew(
    house: House, server: Server
) -> None:
    made = house.install.json("token", "create", "--agent", "bob")
    headers = {"Authorization": f"Bearer {made['token']}"}
    with httpx.Client(base_url=f"{server.url}/api", headers=headers, timeout=30) as http:
        page = loaded(http)
        with page.following():
            house.install.run("token", "revoke", made["id"])
            last = list(page.frames)[-1]
            assert last == {"resync": True}
        assert http.get("/projects/p/state").status_code == 401


def test_two_servers_on_one_store_tell_the_same(house: House) -> None:
    with (
        house.install.up() as one,
        house.install.up() as other,
        house.http(one, "alice") as http,
        house.http(other, "alice") as there,
    ):
        page = loaded(http)
        page.http = there  # a cursor of one server is good at the other
        with page.following():
            task = house.add_task("anywhere")
            assert task in loaded(http).views["tasks"]
            assert task in loaded(there).views["tasks"]
            page.fold_until("tasks", task)
            now = loaded(there)
            page.fold_to(now.cursor)
            assert page.views == now.views


def test_a_server_that_stops_ends_its_streams(house: House) -> None:
    with house.install.up() as server, house.http(server, "alice") as http:
        page = loaded(http)
        with page.following():
            server.process.send_signal(signal.SIGTERM)
            assert list(page.frames) == []
    assert server.process.returncode == 0


async def test_streams_are_counted_and_let_go(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "[plugins.views]\nmax_streams_per_person = 2\n")
    house = House(install, await furnish(install.root / ".aipm-data"))

    def use() -> None:
        with install.up() as server, house.http(server, "alice") as http:
            page = loaded(http)
            with page.following(), Page(http, cursor=page.cursor).following():
                refused = http.get("/projects/p/stream")
                assert refused.status_code == 429
                assert refused.json()["error"]["code"] == "too_many_connections"
                with house.http(server, "bob") as other, loaded(other).following():
                    pass
            for _ in range(50):
                answer = http.send(http.build_request("GET", "/projects/p/stream"), stream=True)
                answer.close()
                if answer.status_code == 200:
                    return
            raise AssertionError("a closed stream is still counted")

    await anyio.to_thread.run_sync(use)


async def test_ten_thousand_tasks_are_read_once_and_then_as_they_change(tmp_path: Path) -> None:
    """What is read again is what changed: the numbers of statements do not grow with the tasks."""
    from aipm_views.api import VIEWS as SERVICE

    secrets = await furnish(tmp_path / "data")
    async with open_runtime(Settings(data_dir=tmp_path / "data")) as runtime:
        desk, views = runtime.services.use(TASKS), runtime.services.use(SERVICE)
        await runtime.services.use(PEOPLES_CHAT).say("alice", "p", "worker", "hello")
        first = await desk.add(NewTask(project_id="p", title="one", actor_id="alice"))
        await runtime.store.write(
            lambda tx: tx.run(
                "with recursive few(n) as (select 1 union all select n + 1 from few "
                "where n < 10000) insert into tasks (id, project_id, title, description, status, "
                "priority, rank, depth, approval_status, created_at, updated_at) select "
                "'tsk_' || n, 'p', 'many', '', case when n % 2 then 'done' else 'todo' end, "
                "'medium', 2, 1, 'approved', '2026', printf('%06d', n) from few"
            )
        )
        before = await views.snapshot("p", "alice")
        assert len(before.views["tasks"]) == 5001 + 200
        await desk.move(first.id, "in_progress", None)
        changes = await views.changes_after("p", "alice", before.cursor)
        assert changes is not None
        assert [c.id for c in changes if c.view == "tasks"] == [first.id]
        await desk.move(first.id, "done", None)
        now = await views.snapshot("p", "alice")
        gone = set(before.views["tasks"]) - set(now.views["tasks"])
        assert (len(now.views["tasks"]), gone) == (5000 + 200, {"tsk_9601"})
        assert now.views["tasks"] == (await views.read_anew("p", "alice"))["tasks"]
    assert secrets


def test_items_are_put_off_and_handed_over_by_tools(house: House, server: Server) -> None:
    with (
        house.http(server, "alice") as one,
        house.http(server, "bob") as other,
        Agent.of(server, house.secrets["worker"]) as agent,
    ):
        wish = agent.call("send_message", target_agent_id="alice", content="@@create-task: it")
        assert wish["success"]
        message = wish["message_id"]
        item = {"project_id": "p", "item_id": message}
        soon = iso(time.time() + 3600)
        done = one.post("/tools/snooze_item", json={**item, "until": soon})
        assert done.json() == {"result": {"item_id": message}}
        assert loaded(one).views["inbox"][message]["snoozed_until"] == soon
        refused = one.post("/tools/hand_over_item", json={**item, "to": "bob"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "item_is_personal")
        refused = other.post("/tools/snooze_item", json={**item, "until": soon})
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "item_not_found")
