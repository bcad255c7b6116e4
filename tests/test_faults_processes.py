"""Servers that share, stop, hold each other up and are killed; see docs/faults.md."""

import fcntl
import random
import re
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from http.client import HTTPException

import pytest
from aipm_devkit.program import Server

from tests.agents import Agent, log_in
from tests.fault_table import ROWS
from tests.fault_team import DATABASE, Team
from tests.progress import counted
from tests.sent_messages import ids_in


def talk(us: Team, agent: Agent, seen: set[str], stop: threading.Event, most: int) -> None:
    for _ in range(most):
        if stop.is_set():
            return
        seen.add(us.sent_messages.say(agent))


def test_two_servers(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "two-servers")
    seen, never = set[str](), threading.Event()
    with us.install.up() as one, us.install.up() as two:
        bob, answers = us.bob(two), list[str]()

        def wait() -> None:
            answers.append(bob.result("get_next_action", timeout_seconds=55)["action"])

        threads = [threading.Thread(target=wait)]
        threads += [
            threading.Thread(target=talk, args=(us, us.ann(server), seen, never, 40))
            for server in (one, two)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert answers == ["get_pending_messages"]
        assert seen == ROWS["two-servers"].seen
        us.sent_messages.check()


def test_one_of_two_stopped(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "one-of-two-stopped")
    stop, first, second = threading.Event(), set[str](), set[str]()
    with us.install.up() as one, us.install.up() as two:
        lane = threading.Thread(target=talk, args=(us, us.ann(one), first, stop, 10_000))
        lane.start()
        ann = us.ann(two)
        for _ in range(5):
            one.process.send_signal(signal.SIGSTOP)
            # Stopped inside a commit it holds the lock, and the other waits for it to go on.
            patience = threading.Timer(1, one.process.send_signal, (signal.SIGCONT,))
            patience.start()
            second |= {us.sent_messages.say(ann) for _ in range(5)}
            patience.cancel()
            one.process.send_signal(signal.SIGCONT)
            second.add(us.sent_messages.say(ann))
        stop.set()
        lane.join(60)
        assert first == second == ROWS["one-of-two-stopped"].seen
        us.sent_messages.check()


@pytest.mark.long
def test_lock_held(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "lock-held")
    lock_file = us.install.root / ".aipm-data" / "write.lock"
    with us.install.up() as server, ExitStack() as held:
        ann = us.ann(server)
        lock = held.enter_context(lock_file.open("ab"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert {us.sent_messages.say(ann)} == ROWS["lock-held"].seen
        done = us.install.run("project", "list", check=2)
        assert "does not go on" in done.stderr
        held.close()
        assert us.sent_messages.say(ann) == "ok"
        us.sent_messages.check()


def test_a_held_lock_does_not_keep_a_server_from_stopping(us: Team) -> None:
    with us.install.up() as server:
        ann = us.ann(server)
        with (us.install.root / ".aipm-data" / "write.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            sending = threading.Thread(target=us.sent_messages.say, args=(ann,))
            sending.start()
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(10)
            sending.join(10)
    assert us.sent_messages.acknowledged == {}
    us.sent_messages.check()


class EveryPlugin:
    """Agents that write through every plugin, until the server is gone."""

    def __init__(self, us: Team, server: Server, run: int) -> None:
        self.made: list[tuple[str, str]] = []
        self._us, self._server, self._run = us, server, run
        self._lanes = [
            threading.Thread(target=self._until_gone, args=(lane,))
            for lane in (self._messages, self._tasks, self._conversations, self._requests)
        ]

    def start(self) -> None:
        for lane in self._lanes:
            lane.start()

    def join(self) -> None:
        for lane in self._lanes:
            lane.join(60)
            assert not lane.is_alive()

    def _until_gone(self, lane: Callable[[], None]) -> None:
        with suppress(OSError, HTTPException, ValueError):  # the server was killed
            lane()

    def _log_in(self, agent: str, purpose: str = "chat") -> Agent:
        return log_in(self._server.mcp, agent, self._us.passkeys[agent], purpose)

    def _messages(self) -> None:
        ann = self._log_in("ann")
        while self._us.sent_messages.say(ann) == "ok":
            pass

    def _tasks(self) -> None:
        ann = self._log_in("ann", "task")
        while True:
            task = ann.result("create_task", title="work")["task"]["id"]
            self.made.append(("tasks", task))
            asked = ann.result("delegate_to_chat_session", target_agent_id="carl", purpose="ask")
            self.made.append(("chat_delegations", asked["delegation_id"]))

    def _conversations(self) -> None:
        bob = self._log_in("bob")
        while True:
            hello = {"participant_agent_id": "carl", "initial_message": "hello"}
            envelope = bob.call("start_conversation", **hello)
            if "error" in envelope:  # left open by the run before; its id is in the sentence
                assert envelope["error"]["code"] == "conversation_already_exists"
                found = re.search(r"conv_\w+", envelope["error"]["message"])
                assert found
                opened = found[0]
            else:
                opened = envelope["result"]["conversation_id"]
            self.made.append(("conversations", opened))
            bob.result("end_conversation", conversation_id=opened)

    def _requests(self) -> None:
        carl, dave = self._log_in("carl"), self._log_in("dave")
        number = 0
        while True:
            number += 1
            title = f"request {self._run}.{number}"
            carl.result("send_message", target_agent_id="dave", content=f"@@タスク作成: {title}")
            dave.result("get_pending_messages")
            self.made.append(("tasks", dave.result("request_task", title=title)["task_id"]))


def killed_while_every_plugin_writes(us: Team, kills: int, seed: int) -> None:
    chance, made = random.Random(seed), list[tuple[str, str]]()
    for run in counted("kills", range(kills)):
        with us.install.up() as server:
            work = EveryPlugin(us, server, run)
            work.start()
            time.sleep(chance.uniform(0.3, 1.5))  # the moment of death is the test's input
            server.process.kill()
            server.process.wait()
            work.join()
        made += work.made
    assert {table for table, _ in made} == {"tasks", "chat_delegations", "conversations"}
    with us.install.up() as server:
        assert us.sent_messages.say(us.ann(server)) == "ok"
        with closing(sqlite3.connect(us.install.root / DATABASE)) as connection:
            for table in {table for table, _ in made}:
                rows = connection.execute(f"select id from {table}").fetchall()
                assert {id_ for kind, id_ in made if kind == table} <= {row[0] for row in rows}
            doubled = connection.execute(
                "select title from tasks where title like 'request %' group by title "
                "having count(*) > 1"
            ).fetchall()
            assert doubled == []
    check_messages_between(us, ("ann", "bob"))


def check_messages_between(us: Team, pair: tuple[str, str]) -> None:
    """Check the sent messages against what those two said: others talk in the same store."""
    with closing(sqlite3.connect(us.install.root / DATABASE)) as connection:
        query = "select id, content from messages where sender_id = ? and receiver_id = ?"
        stored = dict(connection.execute(f"{query} order by seq", pair).fetchall())
    assert us.sent_messages.acknowledged.items() <= stored.items()
    assert len(set(stored.values())) == len(stored)
    assert set(stored.values()) <= {
        *us.sent_messages.acknowledged.values(),
        *us.sent_messages.unknown,
    }
    for owner in pair:
        found = [id_ for id_ in ids_in(us.install.root, owner) if id_ in stored]
        assert found == list(stored)


def test_killed(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "killed")
    killed_while_every_plugin_writes(us, kills=4, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_killed_many_times(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "killed")
    killed_while_every_plugin_writes(us, kills=100, seed=2)
